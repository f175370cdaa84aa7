// The console: regions that refresh without moving what the eye is on, keys, local times.
// Every page works without any of this.

// --- Regions that refresh themselves ---------------------------------------------------------------

const stale = document.getElementById("stale");
let lastHeard = new Date();
let open = [];

const isPoll = (element) => element.getAttribute?.("hx-trigger")?.includes("every");
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && isPoll(event.target)) event.preventDefault(); // nobody looks
});

// What was unfolded stays so; htmx itself keeps the focus on whatever has an id.
document.addEventListener("htmx:beforeSwap", (event) => {
  open = [...event.detail.target.querySelectorAll("details[open][id]")].map((details) => details.id);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  localise(document);
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful) return;
  lastHeard = new Date();
  stale.hidden = true;
});
for (const failure of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => {
    const isLoggedOut = event.detail.xhr?.status === 401;
    stale.querySelector("time").textContent = clock.format(lastHeard);
    stale.querySelector("span").textContent = isLoggedOut
      ? "You are logged out: reload the page to log in." : "It tries again by itself.";
    stale.hidden = false;
  });
}

// --- Times in the reader's own zone, the zone on hover ---------------------------------------------

const inFull = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    const day = { day: "numeric", month: "short" };
    const clock = { hour: "2-digit", minute: "2-digit", ...("seconds" in time.dataset && { second: "2-digit" }) };
    const shown = "day" in time.dataset ? { ...day, year: "numeric" } : { ...day, ...clock };
    time.textContent = new Intl.DateTimeFormat("en-GB", shown).format(at);
    time.title = inFull.format(at);
    time.dataset.local = "";
  }
}
localise(document);

// --- Keys -----------------------------------------------------------------------------------------

const keys = document.getElementById("keys");
const isWriting = (element) => element.matches("input, select, textarea");
let awaitsPlace = false;

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isWriting(event.target)) event.target.blur();
  if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target) || keys.open) return;
  const place = awaitsPlace && document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  awaitsPlace = event.key === "g";
  if (place) place.click();
  else if (document.querySelector(`[data-press="${CSS.escape(event.key)}"]`)) press(event);
  else if (event.key === "/") search(event);
  else if (event.key === "?") keys.showModal();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") moveToRow(event);
});

// A button with its key printed on it, where nothing else is asked first.
function press(event) {
  event.preventDefault();
  document.querySelector(`[data-press="${CSS.escape(event.key)}"]`).click();
}

function search(event) {
  const field = document.querySelector("[data-search]");
  const items = document.querySelector('[data-key="i"]');
  if (!field && !items) return;
  event.preventDefault();
  if (field) field.select();
  else location.assign(`${items.href}#id_q`);
}
if (location.hash === "#id_q") document.querySelector("[data-search]")?.focus();

function moveToRow(event) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const now = rows.findIndex((row) => row.closest("tr, li").contains(event.target));
  const next = rows[now + (event.key === "ArrowDown" ? 1 : -1)];
  if (now < 0 || !next) return;
  event.preventDefault();
  next.focus();
}

// --- After a form was refused, the first field that needs another look ------------------------------

document.querySelector('[aria-invalid="true"]')?.focus();
