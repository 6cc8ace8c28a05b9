"""`headwater predict`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater._core import EventReader
from headwater.cli.columns import column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.log_lines import LogLines
from headwater.cli.mistakes import Mistake
from headwater.cli.outputs import check_apart, check_writable, is_unicode, text_output
from headwater.cli.sources import event_options, open_events, read_model, reading, tell_of
from headwater.inputs.files import SUFFIXES
from headwater.learners.base import Learner

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
EVENTS = 4_096
"""Predicted at a time."""
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@click.command(
    cls=Command,
    example="headwater predict model.hw new.csv --out predictions.csv",
    first=("--out", "--json", "--label", "--id"),
)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file")
@column_options
@event_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where the predictions go: JSON lines if the name ends in .jsonl, else CSV.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines, not CSV.")
def predict(
    model: Path,
    file: str,
    config: Path | None,
    form: str | None,
    on_error: str,
    out: Path | None,
    as_json: bool,
    **roles: Any,
) -> None:
    """Predict the events of a file with a saved model.

    Columns have the roles that the model was trained with, unless options or --config say
    otherwise; the label's need not be there. Writes one line per event: id (its number from 0 if it
    has none), prediction, margin, query_probability (the probability with which the model would ask
    for its label) and the probability of each label.
    """
    if model.suffix.lower() in SUFFIXES and file.endswith(".hw"):
        raise Mistake(f"The model comes first: headwater predict {file} {model}.")
    learner = read_model(model)
    columns, _ = given_columns(roles, config, learner.columns)
    events = open_events(file, form, columns, on_error)
    events.optional = True
    trained = None if learner.columns is None else learner.columns.label
    if trained is not None and trained not in {name for _, name in columns.roles()}:
        click.echo(
            f"The model was trained on the label {trained!r}, which is a feature here if {file} has"
            f" it: --label {trained} or --ignore {trained} leaves it out.",
            err=True,
        )
    if out is not None:
        check_apart("--out", out, model, *([file] if file != "-" else []))
        check_writable(out)
        as_json = as_json or out.suffix.lower() in JSON_SUFFIXES
    with text_output(out) as output, reading(events):
        escaped = as_json and out is None and not is_unicode()
        write = _escaping(output.write) if escaped else output.write
        log = LogLines("standard input" if file == "-" else file)
        count = _predict(learner, events.reader(), csv=not as_json, write=write, log=log)
    tell_of(events)
    if not count:
        name = "standard input" if file == "-" else file
        click.echo(f"{name}: there are no events to predict.", err=True)


def _predict(
    learner: Learner,
    reader: EventReader,
    csv: bool,
    write: Callable[[str], object],
    log: LogLines,
) -> int:
    """Write one line per event; how many there were."""
    count = 0
    while True:
        text, done = learner._predict_file(reader, EVENTS, csv, count)
        write(text)
        if not done:
            return count
        count += done
        log.show(None, f"{count:,} events predicted")


def _escaping(write: Callable[[str], object]) -> Callable[[str], object]:
    """The same for an output without all characters: JSON has escapes for them."""
    return lambda text: write(NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text))
