"""The help of a command: its most useful options first, and an example."""

from collections.abc import Sequence
from typing import Any

import click


class Command(click.Command):
    """A command with an example; the options in `first` are listed before all others."""

    def __init__(
        self, *args: Any, example: str = "", first: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.first = tuple(first)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in two lists, if some come first; then the example."""
        rows = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                rows[param.opts[0]] = record
        first = [rows.pop(name) for name in self.first]
        if first:
            with formatter.section("Options"):
                formatter.write_dl(first)
        with formatter.section("More options" if first else "Options"):
            formatter.write_dl(list(rows.values()))
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
