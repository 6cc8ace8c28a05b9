"""Tables for people."""

from typing import TYPE_CHECKING

from headwater.types import TextTable

if TYPE_CHECKING:
    from rich.table import Table as RichTable


def drawn(table: TextTable, title: str | None = None) -> "RichTable":
    """A table as the terminal shows it: the first column to the left, the others to the right.

    A head without any words is left out.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    table_drawn = RichTable(
        title=None if title is None else Text(title),
        title_justify="left",
        show_header=any(table.head),
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    for place, head in enumerate(table.head):
        if place == 0:
            table_drawn.add_column(head, vertical="bottom", no_wrap=True)
        else:
            table_drawn.add_column(head, vertical="bottom", justify="right")
    for row in table.rows:
        table_drawn.add_row(*map(Text, row))  # a name may look like rich's markup
    return table_drawn
