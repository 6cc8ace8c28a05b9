"""Tables for people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from headwater.experiments.tables import Table


def drawn(table: "Table", title: str) -> "RichTable":
    """A table as the terminal shows it: the first column to the left, the others to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    table_drawn = RichTable(
        title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0, 0, 1)
    )
    for place, head in enumerate(table.head):
        if place == 0:
            table_drawn.add_column(head, vertical="bottom", no_wrap=True)
        else:
            table_drawn.add_column(head, vertical="bottom", justify="right")
    for row in table.rows:
        table_drawn.add_row(*row)
    return table_drawn
