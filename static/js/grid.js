// A grid of choices: arrow keys move from cell to cell, a digit chooses in the cell and moves on.
// Only pages with a grid load this. Without it every cell is a group of radio buttons as browsers have them.

const form = () => document.getElementById("item");
const rows = () => [...form().querySelectorAll("[data-grid-row]")].map((row) => [...row.querySelectorAll("[data-cell]")]);
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function enter(cell) {
  if (!cell) return;
  const input = cell.querySelector("input:checked") ?? cell.querySelector("input");
  input.focus();
  cell.scrollIntoView({ block: "nearest" });
}

/** The first cell without a choice; null when everything is rated. */
const firstOpen = () => rows().flat().find((cell) => !cell.querySelector("input:checked")) ?? null;

function place(cell) {
  const grid = rows();
  const row = grid.findIndex((cells) => cells.includes(cell));
  return [grid, row, grid[row].indexOf(cell)];
}

function move(cell, down, right) {
  const [grid, row, column] = place(cell);
  enter(grid[row + down]?.[column + right]);
}

function choose(cell, input) {
  input.checked = true;
  input.focus();
  input.dispatchEvent(new Event("change", { bubbles: true }));
  const [grid, row, column] = place(cell);
  enter(grid[row][column + 1] ?? grid[row + 1]?.[0]);
}

// Before the browser moves inside a group of radio buttons, and before `work.js` looks for a key.
document.addEventListener("keydown", (event) => {
  const at = document.activeElement;
  if (!form() || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || document.querySelector("dialog[open]")) return;
  if (at.matches("textarea, select, input:not([type=radio], [type=checkbox])")) return;
  const inside = at.closest("[data-cell]");
  if (event.key in MOVES) {
    if (!inside && at !== document.body && !at.matches("[data-heading]")) return;
    event.preventDefault();
    if (inside) move(inside, ...MOVES[event.key]);
    else enter(firstOpen() ?? rows()[0]?.[0]);
  } else if (/^[0-9]$/.test(event.key)) {
    const cell = inside ?? firstOpen();
    const input = cell?.querySelector(`input[data-digit="${event.key}"]`);
    if (!input) return;
    event.preventDefault();
    choose(cell, input);
  }
}, { capture: true });
