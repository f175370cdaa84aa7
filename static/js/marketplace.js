// The time that is left for a task, counted down, with a warning in its last minute.
const shown = document.querySelector("[data-seconds]"), warning = document.querySelector("[data-warning]");
const end = Date.now() + Number(shown.dataset.seconds) * 1000;
setInterval(() => {
  const left = Math.max(0, Math.round((end - Date.now()) / 1000));
  shown.textContent = left >= 120 ? `${Math.ceil(left / 60)} min left` : `${left} s left`;
  warning.hidden = left >= 60;
}, 1000);
