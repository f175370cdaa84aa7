"""Tables, as they go into bench/RESULTS.md."""

from collections.abc import Sequence


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with a heading."""
    rows = [[*row, *[""] * (len(heads) - len(row))] for row in rows]
    widths = [max(len(head), *(len(row[n]) for row in rows)) for n, head in enumerate(heads)]
    print(f"\n### {title}\n", flush=True)
    for row in [heads, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |", flush=True)
