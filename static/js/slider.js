// A slider without an anchor: no handle before the first press or key. It sends a position; the server rates it.
// Only pages with a slider load this; it takes up every item that `work.js` begins.

const STEPS = 1000, PAGE = 50;
const BY_KEY = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE, Home: -STEPS, End: STEPS };

/** The rating shown while moving; two decimals, as the server computes it. */
export function rating(position, exponent) {
  const share = position / STEPS;
  const exact = position === 0 ? 0 : 100 / (1 + (1 / share - 1) ** exponent);
  return (Math.round(exact * 100) / 100).toFixed(2);
}

/** @param {HTMLFormElement} form that may hold one [data-slider] */
function keepSlider(form) {
  const slider = form.querySelector("[data-slider]");
  if (!slider) return;
  const name = slider.dataset.slider, field = form.elements.namedItem(name);
  const track = slider.querySelector("[data-track]"), handle = slider.querySelector("[data-handle]");
  const arrived = performance.now();

  const typed = form.querySelector("[data-typed]");
  typed.hidden = true;
  typed.querySelector("input").disabled = true;
  slider.hidden = false;

  const isSet = () => /^\d+$/.test(field.value);

  function show() {
    handle.hidden = !isSet();
    if (!isSet()) return;
    const position = Number(field.value), value = rating(position, Number(slider.dataset.exponent));
    const end = { "0.00": slider.dataset.low, "100.00": slider.dataset.high }[value];
    handle.style.left = `${position / STEPS * 100}%`;
    slider.querySelector("[data-reading]").textContent = `${value} ${slider.dataset.unit}`;
    track.setAttribute("aria-valuenow", value);
    track.setAttribute("aria-valuetext", `${value} ${slider.dataset.unit}${end ? `, ${end}` : ""}`);
  }

  function put(position, kind) {
    field.value = Math.min(STEPS, Math.max(0, position));
    show();
    field.dispatchEvent(new Event(kind, { bubbles: true }));
  }

  // One press, drag or key, however long it is held, is one move.
  function count() {
    const moves = form.elements.namedItem("sign-moves"), touch = form.elements.namedItem("sign-first_touch_ms");
    if (!moves) return;
    moves.value = Number(moves.value) + 1;
    if (!Number(touch.value)) touch.value = Math.max(1, Math.round(performance.now() - arrived));
  }

  function at(event) {
    const box = track.getBoundingClientRect();
    return Math.round((event.clientX - box.left) / box.width * STEPS);
  }

  track.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    track.focus({ focusVisible: false });
    track.setPointerCapture(event.pointerId);
    count();
    put(at(event), "input");
  });
  track.addEventListener("pointermove", (event) => {
    if (track.hasPointerCapture(event.pointerId)) put(at(event), "input");
  });
  track.addEventListener("lostpointercapture", () => put(Number(field.value), "change"));

  track.addEventListener("keydown", (event) => {
    const by = BY_KEY[event.key];
    if (!by || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (!event.repeat) count();
    put((isSet() ? Number(field.value) : STEPS / 2) + by, "input");
  });
  form.addEventListener("recalled", show);
  show();
}

document.addEventListener("begun", (event) => keepSlider(event.target));

// From elsewhere on the page the arrows to the sides move it; the other keys scroll.
document.addEventListener("keydown", (event) => {
  const track = document.querySelector("[data-track]"), at = document.activeElement;
  const isTaken = at === track || at.matches("textarea, input:not([type=checkbox])") || document.querySelector("dialog[open]");
  if (!track || isTaken || !["ArrowLeft", "ArrowRight"].includes(event.key) || event.altKey) return;
  event.preventDefault();
  track.focus();
  track.dispatchEvent(new KeyboardEvent("keydown", event));
});
