// Drafts save themselves: soon after the last keystroke, at least every second and a half while writing, at once on a
// choice, and when the page goes away. While there is no connection the latest state is kept and sent again.
import { keepSigns } from "./signs.js";

const PAUSE = 600, LONGEST = 1500, IDLE = 30_000;

/**
 * @param {HTMLFormElement} form with data-draft (where to post) and a hidden field active_seconds
 * @param {{onSaid: (problems: object[]) => void, mark: HTMLElement}} page
 * @returns {{stop: () => void, settled: () => Promise<void>}} `settled` waits for a save that is on its way, so that
 *   nothing older can arrive after what is posted next
 */
export function keepDraft(form, { onSaid, mark }) {
  let timer = 0, waitingSince = 0, retry = 0, sent = state(), busy = false, stopped = false, underWay = Promise.resolve();
  let lastInput = Date.now();
  const key = `draft-${form.dataset.assignment}`;
  // Requests may overtake each other: the server leaves out an edit that a later one of the same page overtook.
  const page = crypto.getRandomValues(new Uint32Array(2)).reduce((text, n) => text + n.toString(16).padStart(8, "0"), "");
  let edit = 0, remembered = 0;
  form.elements.page.value = page;

  function state() {
    const data = new FormData(form);
    for (const name of [...data.keys()]) if (/^(active_seconds|page|edit|sign-.*)$/.test(name)) data.delete(name);
    return new URLSearchParams(data).toString();
  }

  function body() {
    form.elements.edit.value = ++edit;
    return new URLSearchParams(new FormData(form));
  }

  function say(text, isBad = false) {
    mark.textContent = text;
    mark.classList.toggle("bad", isBad);
  }

  function soon(delay) {
    waitingSince ||= Date.now();
    clearTimeout(timer);
    timer = setTimeout(begin, Math.max(0, Math.min(delay, waitingSince + LONGEST - Date.now())));
  }

  function begin() {
    if (!busy) underWay = save();
  }

  async function save() {
    clearTimeout(timer);
    if (stopped || busy || state() === sent) return;
    const now = state(), words = body(), number = edit;
    busy = true;
    waitingSince = 0;
    say("saving");
    try {
      const answer = await fetch(form.dataset.draft, { method: "POST", body: words, signal: AbortSignal.timeout(10_000) });
      if (stopped) return;
      const said = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : null;
      if (said) onSaid(said.problems, said.differences ?? {});
      if (answer.status >= 500) throw new Error(answer.statusText);
      sent = now;
      retry = 0;
      remember(now, number);  // a page that was asked for before this save may still show older words
      if (answer.ok && state() === sent) delete form.dataset.unsaved;
      if (answer.ok) say(`saved ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`);
      else say("not saved: please look at the marked fields, or reload the page", true);
      const left = form.querySelector("[data-minutes]");
      if (left && said?.minutes_left) {
        left.dataset.minutes = said.minutes_left;
        left.textContent = `${said.minutes_left} min left`;
      }
    } catch {
      remember(now, number);
      say("not saved: will retry", true);
      retry = Math.min(retry + 1, 6);
      timer = setTimeout(begin, 500 * 2 ** retry);
    } finally {
      busy = false;
    }
    if (!stopped && !retry && state() !== sent) soon(PAUSE);
  }

  // A page that is closed before its words were taken finds them again when it is opened on the same device, unless
  // something newer was saved meanwhile.
  function remember(text, number) {
    if (number < remembered) return;  // a save may end after the page has said its last words
    remembered = number;
    try {
      localStorage.setItem(key, JSON.stringify({ text, page, edit: number, at: Date.now() }));
    } catch { /* private mode: the page itself still holds the text */ }
  }

  function recall() {
    let kept = null;
    try { kept = JSON.parse(localStorage.getItem(key)); } catch { return; }
    if (!kept) return;
    const isNewer = kept.page === form.dataset.keptPage
      ? kept.edit > Number(form.dataset.keptEdit)
      : kept.at > Number(form.dataset.kept) * 1000;
    if (!isNewer) return;
    for (const [name, value] of new URLSearchParams(kept.text)) {
      const field = form.elements.namedItem(name);
      if (field instanceof RadioNodeList) field.value = value;
      else if (field instanceof HTMLTextAreaElement) field.value = value;
      else if (field instanceof HTMLInputElement && ["radio", "checkbox"].includes(field.type)) field.checked = field.value === value;
      else if (field instanceof HTMLInputElement && "recalled" in field.dataset) field.value = value;
    }
    form.dispatchEvent(new Event("recalled"));
    soon(0);
  }

  const onInput = (event) => { lastInput = Date.now(); form.dataset.unsaved = ""; soon(event.type === "change" ? 0 : PAUSE); };
  const onMove = () => { lastInput = Date.now(); };
  const onHide = () => {
    if (stopped || state() === sent) return;
    const words = body();
    remember(state(), edit);
    navigator.sendBeacon(form.dataset.draft, words);
  };
  const onOnline = () => { retry = 0; begin(); };

  // Active time: seconds with the page in view and a sign of life within the last half minute.
  const clock = setInterval(() => {
    if (document.visibilityState === "visible" && Date.now() - lastInput < IDLE) form.elements.active_seconds.value++;
  }, 1000);

  const signs = keepSigns(form);
  form.addEventListener("input", onInput);
  form.addEventListener("change", onInput);
  for (const name of ["pointermove", "scroll", "keydown"]) addEventListener(name, onMove, { passive: true });
  addEventListener("pagehide", onHide);
  addEventListener("online", onOnline);
  recall();

  const stop = () => {
    stopped = true;
    if (busy) say("");  // what took this form's place was posted with its words
    clearTimeout(timer);
    clearInterval(clock);
    signs.stop();
    for (const name of ["pointermove", "scroll", "keydown"]) removeEventListener(name, onMove);
    removeEventListener("pagehide", onHide);
    removeEventListener("online", onOnline);
  };
  return { stop, settled: () => underWay };
}
