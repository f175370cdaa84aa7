// A slider without an anchor: no handle before the first press or key. It sends a position; the server rates it.

const STEPS = 1000, PAGE = 50;
const BY_KEY = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE, Home: -STEPS, End: STEPS };

/** The rating shown while moving; two decimals, as the server computes it. */
export function rating(position, exponent) {
  const share = position / STEPS;
  const exact = position === 0 ? 0 : 100 / (1 + (1 / share - 1) ** exponent);
  return (Math.round(exact * 100) / 100).toFixed(2);
}

/**
 * @param {HTMLFormElement} form that may hold one [data-slider]
 * @returns {{key: (event: KeyboardEvent) => boolean}} `key` moves the slider, and says whether the key was one of its own
 */
export function keepSlider(form) {
  const slider = form.querySelector("[data-slider]");
  if (!slider) return { key: () => false };
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

  function key(event) {
    const by = BY_KEY[event.key];
    if (!by || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return false;
    event.preventDefault();
    if (!event.repeat) count();
    put((isSet() ? Number(field.value) : STEPS / 2) + by, "input");
    track.focus();
    return true;
  }
  track.addEventListener("keydown", (event) => { if (key(event)) event.stopPropagation(); });
  form.addEventListener("recalled", show);
  show();
  // From elsewhere on the page only these: the others scroll it.
  return { key: (event) => ["ArrowLeft", "ArrowRight"].includes(event.key) && key(event) };
}
