// The annotator's page: steps that unfold, drafts that save themselves, keys for everything.
// The form works without any of this; the server checks everything again.
import { keepDraft } from "./draft.js";

const form = () => document.getElementById("item");
const help = document.getElementById("help");
const isWriting = (element) => element.matches("textarea, input:not([type=radio], [type=checkbox])");
let draft = { stop() {}, settled: () => Promise.resolve() };

// --- Steps ---------------------------------------------------------------------------------------

const chosen = (step) => step.querySelector("input:checked");

function unfold() {
  for (const step of form().querySelectorAll("[data-when]")) {
    const earlier = document.getElementById(`step-${step.dataset.when}`);
    const value = chosen(earlier)?.value;
    step.hidden = earlier.hidden || (step.dataset.is === "*" ? !value : value !== step.dataset.is);
  }
  const open = [...form().querySelectorAll("[data-step]:not([hidden])")];
  for (const step of open) {
    const fold = step.querySelector("[data-fold]");
    if (!fold || !step.dataset.when && open.length === 1) continue;
    const isPast = step !== open.at(-1) && Boolean(chosen(step)) && !("reopened" in step.dataset);
    step.querySelector(".inside").hidden = isPast;
    fold.hidden = !isPast;
    fold.textContent = isPast ? `${chosen(step).parentElement.querySelector("span").textContent} · change` : "";
  }
  for (const fieldset of form().querySelectorAll("[data-step]:has([data-group])")) {
    const more = [...fieldset.querySelectorAll("[data-more]")];
    for (const group of more) group.hidden = !("shown" in group.dataset) && !isWritten(group);
    fieldset.querySelector("[data-add]").hidden = more.every((group) => !group.hidden);
  }
}

const isWritten = (group) => [...group.querySelectorAll("textarea")].some((text) => text.value.trim());

// --- What is said under a field ------------------------------------------------------------------

function say(problems, differences) {
  for (const [field, texts] of Object.entries(differences)) mark(field, texts);
  for (const list of form().querySelectorAll("[data-said]")) {
    const mine = problems.filter((problem) => problem.field === list.dataset.said);
    list.replaceChildren(...mine.map((problem) => {
      const line = document.createElement("li");
      line.className = problem.blocking ? "bad" : "warn";
      line.textContent = `${problem.blocking ? "✕" : "!"} ${problem.text}`;
      return line;
    }));
    const field = form().elements.namedItem(list.dataset.said);
    if (field instanceof HTMLTextAreaElement) field.setAttribute("aria-invalid", mine.some((p) => p.blocking));
  }
}

// A text and what it was made of, each with the words marked that the other has not.
function mark(field, texts) {
  const shown = form().querySelectorAll(`[data-difference="${CSS.escape(field)}"] dd`);
  texts.forEach((runs, n) => shown[n].replaceChildren(...runs.map(([text, isMarked]) => {
    if (!isMarked) return text;
    const marked = document.createElement("mark");
    marked.textContent = text;
    return marked;
  })));
}

// --- One item, from its arrival to its end ---------------------------------------------------------

function begin() {
  draft.stop();
  if (!form()) return;
  unfold();
  for (const text of form().querySelectorAll("textarea")) {
    const list = document.getElementById(`said-${text.name}`);
    if (list.querySelector(".bad")) text.setAttribute("aria-invalid", "true");
  }
  form().dispatchEvent(new Event("begun", { bubbles: true }));
  draft = keepDraft(form(), { onSaid: say, mark: document.querySelector("[data-saved]") });
  if (matchMedia("(max-width: 760px)").matches) document.querySelector("[data-collapse]")?.removeAttribute("open");
  countDown();
  form().dataset.ready = "";
  const wrong = form().querySelector("[data-blocked]") && form().querySelector(".said .bad");
  const target = wrong ? wrong.closest(".step, .group") : null;
  if (target) {
    const field = document.getElementById(`f-${wrong.parentElement.dataset.said}`);
    const shown = field && field.offsetParent ? field : null;
    (shown ?? target.querySelector("[role=slider], input:not([type=hidden]), textarea")).focus();
  } else if (document.body.dataset.turned) {
    form().querySelector("[data-heading]").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

let minute;
function countDown() {
  clearInterval(minute);
  minute = setInterval(() => {
    const left = form()?.querySelector("[data-minutes]");
    if (!left) return;
    left.dataset.minutes = Math.max(0, left.dataset.minutes - 1);
    left.textContent = `${left.dataset.minutes} min left`;
  }, 60_000);
}

document.addEventListener("click", (event) => {
  const fold = event.target.closest("[data-fold]");
  if (fold) {
    const step = fold.closest("[data-step]");
    step.dataset.reopened = "";
    unfold();
    (chosen(step) ?? step.querySelector("input")).focus();
  }
  if (event.target.closest("[data-add]")) {
    const group = event.target.closest("[data-step]").querySelector("[data-more][hidden]");
    group.dataset.shown = "";
    unfold();
    group.querySelector("textarea").focus();
  }
  if (event.target.closest("[data-help]")) {
    event.preventDefault();
    openHelp();
  }
});

document.addEventListener("change", (event) => {
  const step = event.target.closest?.("[data-step]");
  if (step && ["radio", "checkbox"].includes(event.target.type)) {
    delete step.dataset.reopened;
    unfold();
  }
});

function openHelp() {
  const open = [...form().querySelectorAll("[data-step]:not([hidden])")].at(-1);
  for (const section of help.querySelectorAll("[data-for]")) {
    section.classList.toggle("now", section.dataset.for === open?.dataset.step);
  }
  help.showModal();
  help.querySelector(".now")?.scrollIntoView({ block: "nearest" });
}

// --- Keys -----------------------------------------------------------------------------------------

function press(value) {
  const button = form().querySelector(`.bar [name=go][value=${value}]:not(:disabled)`);
  button?.click();
}

function turn(by) {
  const dots = [...form().querySelectorAll(".dot")];
  dots[dots.findIndex((dot) => dot.hasAttribute("aria-current")) + by]?.click();
}

document.addEventListener("keydown", (event) => {
  if (!form() || help.open) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    event.preventDefault();
    press("next");
  } else if (event.altKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    event.preventDefault();
    turn(event.key === "ArrowLeft" ? -1 : 1);
  } else if (event.key === "Escape" && isWriting(document.activeElement)) {
    document.activeElement.blur();
  } else if (!isWriting(document.activeElement) && !event.ctrlKey && !event.altKey && !event.metaKey) {
    if (event.key === "?") return openHelp();
    const input = form().querySelector(`[data-step]:not([hidden]) input[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!input) return;
    event.preventDefault();
    input.checked = input.type === "radio" || !input.checked;
    input.focus({ focusVisible: false });
    input.dispatchEvent(new Event("change", { bubbles: true }));
    const text = form().querySelector("[data-step]:not([hidden]) textarea");
    if (text && input.closest("[data-step]").nextElementSibling?.contains(text)) text.focus();
  }
});

document.addEventListener("htmx:confirm", (event) => {
  event.preventDefault();
  draft.settled().then(() => event.detail.issueRequest(true));
});
// What Next posts is the last edit of its page.
document.addEventListener("htmx:configRequest", (event) => { event.detail.parameters.set("edit", 9_999_999); });
document.addEventListener("htmx:beforeRequest", () => { document.body.dataset.turned = "yes"; });
document.addEventListener("htmx:afterSettle", begin);
document.addEventListener("htmx:sendError", () => {
  const mark = document.querySelector("[data-saved]");
  mark.classList.add("bad");
  mark.textContent = "No connection. What you wrote is kept on this page; press the button again in a moment.";
});
begin();
