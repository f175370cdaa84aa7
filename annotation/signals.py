"""News for the apps above, sent inside the transaction: a receiver that raises rolls the step back."""

from django.dispatch import Signal

# answers_counted: the counted annotations of these items are now these.
#   items: list[Item]; counted: dict[int, list[Counted]], item id -> counted annotations in order of submission.
answers_counted = Signal()

# item_settled: these items were settled, dropped, left unresolved, or (step is a Collect) opened again.
#   steps: list[tuple[Item, Step]]; at: datetime.
item_settled = Signal()
