// The answers are kept: send the form on to the marketplace, which the button does without this.

const form = document.querySelector("[data-leave]");
const button = form.querySelector("button");

// Coming back to this page (by the browser's own button) must not send it again by itself.
if (performance.getEntriesByType("navigation")[0]?.type !== "back_forward") {
  form.requestSubmit(button);
}
form.addEventListener("submit", () => {
  button.disabled = true;
});
