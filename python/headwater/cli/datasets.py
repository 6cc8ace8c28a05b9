"""`headwater datasets`."""

import dataclasses
from pathlib import Path

import click

from headwater.cli.outputs import echo_json
from headwater.datasets import Entry, entries
from headwater.datasets import fetch as fetch_dataset
from headwater.datasets.dataset import kind_of
from headwater.datasets.registry import folder_of

in_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of data sets; by default HEADWATER_DATA, or the user's cache.",
)


@click.group(
    invoke_without_command=True,
    epilog="\b\nExample:\n  headwater datasets\n  headwater datasets fetch a8a",
)
@in_folder
@click.option("--json", "as_json", is_flag=True, help="The whole registry as JSON.")
@click.pass_context
def datasets(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """List the data sets of the papers, and fetch the public ones.

    A data set that cannot be fetched must be prepared from its source and put into the folder as
    NAME.svm.gz; a timed one, a stream of named features, as streams/NAME.jsonl.gz.
    """
    if ctx.invoked_subcommand is not None:
        if folder is not None or as_json:
            raise click.UsageError(f"Options go after {ctx.invoked_subcommand}.")
    elif as_json:
        known = [
            {**dataclasses.asdict(entry), "present": entry.path(folder).exists()}
            for entry in entries()
        ]
        echo_json(known)
    else:
        _print_table(entries(), folder)


@datasets.command()
@click.argument("name")
@in_folder
@click.option("--mirror", metavar="URL", help="Another folder with the public files.")
def fetch(name: str, folder: Path | None, mirror: str | None) -> None:
    """Fetch the data set NAME, check it and store it as NAME.svm.gz."""
    path = fetch_dataset(name, folder, mirror, progress=True)
    click.echo(f"{name}: {path}")


def _print_table(known: tuple[Entry, ...], folder: Path | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("name", "n", "d", "classes"):
        table.add_column(head, no_wrap=True, justify="left" if head == "name" else "right")
    for head in ("kind", "there", "licence", "source"):
        table.add_column(head, no_wrap=head in ("kind", "there"))
    for entry in known:
        absent = "fetch" if entry.is_fetchable else "no"
        counts = [entry.n, entry.d, entry.classes]
        table.add_row(
            entry.name,
            *("?" if count is None else f"{count:,}" for count in counts),
            kind_of(entry),
            "yes" if entry.path(folder).exists() else absent,
            entry.licence,
            entry.source,
        )
    console = Console()
    console.print(table)
    console.print(
        f"In {folder_of(folder)}. Those marked fetch can be: headwater datasets fetch NAME.",
        soft_wrap=True,
        markup=False,
    )
