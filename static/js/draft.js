// Drafts save themselves: soon after the last keystroke, at least every second and a half while writing, at once on a
// choice, and when the page goes away. While there is no connection the latest state is kept and sent again.
const PAUSE = 600, LONGEST = 1500, IDLE = 30_000;

/**
 * @param {HTMLFormElement} form with data-draft (where to post) and a hidden field active_seconds
 * @param {{onSaid: (problems: object[]) => void, mark: HTMLElement}} page
 * @returns {() => void} stops saving
 */
export function keepDraft(form, { onSaid, mark }) {
  let timer = 0, waitingSince = 0, retry = 0, sent = state(), busy = false, stopped = false;
  let lastInput = Date.now();
  const key = `draft-${form.dataset.assignment}`;

  function state() {
    const data = new FormData(form);
    data.delete("active_seconds");
    return new URLSearchParams(data).toString();
  }

  function body() {
    return new URLSearchParams(new FormData(form));
  }

  function say(text, isBad = false) {
    mark.textContent = text;
    mark.classList.toggle("bad", isBad);
  }

  function soon(delay) {
    waitingSince ||= Date.now();
    clearTimeout(timer);
    timer = setTimeout(save, Math.max(0, Math.min(delay, waitingSince + LONGEST - Date.now())));
  }

  async function save() {
    clearTimeout(timer);
    if (stopped || busy || state() === sent) return;
    const now = state();
    busy = true;
    waitingSince = 0;
    say("saving");
    try {
      const answer = await fetch(form.dataset.draft, { method: "POST", body: body() });
      if (stopped) return;
      const said = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : null;
      if (said) onSaid(said.problems);
      if (answer.status >= 500) throw new Error(answer.statusText);
      sent = now;
      retry = 0;
      remember(null);
      if (answer.ok && state() === sent) delete form.dataset.unsaved;
      if (answer.ok) say(`saved ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`);
      else say("not saved: please look at the marked fields, or reload the page", true);
      const left = form.querySelector("[data-minutes]");
      if (left && said?.minutes_left) {
        left.dataset.minutes = said.minutes_left;
        left.textContent = `${said.minutes_left} min left`;
      }
    } catch {
      remember(now);
      say("not saved: will retry", true);
      retry = Math.min(retry + 1, 6);
      timer = setTimeout(save, 500 * 2 ** retry);
    } finally {
      busy = false;
    }
    if (!stopped && !retry && state() !== sent) soon(PAUSE);
  }

  // A page that is closed without a connection finds its words again when it is opened on the same device.
  function remember(text) {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
    } catch { /* private mode: the page itself still holds the text */ }
  }

  function recall() {
    let text = null;
    try { text = localStorage.getItem(key); } catch { return; }
    if (!text) return;
    for (const [name, value] of new URLSearchParams(text)) {
      const field = form.elements.namedItem(name);
      if (field instanceof RadioNodeList) field.value = value;
      else if (field instanceof HTMLTextAreaElement && !field.value) field.value = value;
      else if (field instanceof HTMLInputElement && field.type === "radio") field.checked = field.value === value;
    }
    soon(0);
  }

  const onInput = (event) => { lastInput = Date.now(); form.dataset.unsaved = ""; soon(event.type === "change" ? 0 : PAUSE); };
  const onMove = () => { lastInput = Date.now(); };
  const onHide = () => {
    if (!stopped && state() !== sent) navigator.sendBeacon(form.dataset.draft, body());
  };
  const onOnline = () => { retry = 0; save(); };

  // Active time: seconds with the page in view and a sign of life within the last half minute.
  const clock = setInterval(() => {
    if (document.visibilityState === "visible" && Date.now() - lastInput < IDLE) form.elements.active_seconds.value++;
  }, 1000);

  form.addEventListener("input", onInput);
  form.addEventListener("change", onInput);
  for (const name of ["pointermove", "scroll", "keydown"]) addEventListener(name, onMove, { passive: true });
  addEventListener("pagehide", onHide);
  addEventListener("online", onOnline);
  recall();

  return () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(clock);
    for (const name of ["pointermove", "scroll", "keydown"]) removeEventListener(name, onMove);
    removeEventListener("pagehide", onHide);
    removeEventListener("online", onOnline);
  };
}
