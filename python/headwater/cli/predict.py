"""`headwater predict`."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater.cli.mistakes import Mistake
from headwater.cli.outputs import (
    TextOutput,
    check_apart,
    check_writable,
    is_unicode,
    text_output,
)
from headwater.cli.sources import event_options, open_events, read_model, reading
from headwater.errors import EventError, StepError
from headwater.inputs.files import EventFile
from headwater.learners.base import Learner
from headwater.types import Label

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file")
@click.option(
    "--label", metavar="NAME", help="The field with the label, if there is one: not a feature."
)
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
    label: str | None,
    form: str | None,
    id: str | None,
    on_error: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Predict the events of a file with a saved model, which does not change.

    Writes one line per event: id (its number from 0 if it has none), prediction, margin,
    query_probability (the probability with which the model would ask for its label) and the
    probability of each label.
    """
    learner = read_model(model)
    events = open_events(file, form, label, id, on_error)
    if out is not None:
        check_apart("--out", out, model, *([file] if file != "-" else []))
        check_writable(out)
        as_json = as_json or out.suffix.lower() in JSON_SUFFIXES
    with text_output(out) as output, reading(events):
        write = _json_writer if as_json else _csv_writer
        plain = out is None and not is_unicode()
        count, refused = _predict(learner, events, write(output, learner.labels, plain))
    if skipped := events.skipped + len(refused):
        click.echo(f"Lines skipped: {skipped:,}", err=True)
        for problem in [*events.problems, *refused][:10]:
            click.echo(f"  {problem}", err=True)
    if not count:
        name = "standard input" if file == "-" else file
        click.echo(f"{name}: there are no events to predict.", err=True)


def _predict(
    learner: Learner, events: EventFile, write: Callable[..., None]
) -> tuple[int, list[str]]:
    """One line per event; how many there were, and why some could not be predicted."""
    labels = learner.labels
    count = 0
    refused: list[str] = []
    for number, (id, x, _) in enumerate(events.records()):
        try:
            prediction, margin, _, probability, _ = learner._explain(x)
            shares = learner.predict_proba_one(x) if labels else {}
        except (EventError, StepError) as error:
            reason = str(error).removeprefix("event: ")
            problem = f"{events.path}, event {number}: {reason}"
            if events.on_error == "raise":
                raise Mistake(problem) from error
            refused.append(problem)
            continue
        count += 1
        write(number if id is None else id, prediction, margin, probability, shares)
    return count, refused


def _json_writer(output: TextOutput, labels: tuple[Label, ...], plain: bool) -> Callable[..., None]:
    names = [_name(label) for label in labels]

    def write(id: Any, prediction: Any, margin: float, asks: float, shares: dict[Any, Any]) -> None:
        line = {"id": id, "prediction": prediction, "margin": margin, "query_probability": asks}
        if labels:
            line["probabilities"] = dict(zip(names, shares.values(), strict=True))
        output.write(json.dumps(line, ensure_ascii=plain) + "\n")

    return write


def _csv_writer(output: TextOutput, labels: tuple[Label, ...], plain: bool) -> Callable[..., None]:
    table = csv.writer(output, lineterminator="\n")
    columns = [f"probability_{_name(label)}" for label in labels]
    table.writerow(["id", "prediction", "margin", "query_probability", *columns])

    def write(id: Any, prediction: Any, margin: float, asks: float, shares: dict[Any, Any]) -> None:
        said = _name(prediction) if isinstance(prediction, bool) else prediction
        table.writerow([id, said, margin, asks, *shares.values()])

    return write


def _name(label: Label) -> str:
    """A label as text; bools as files write them."""
    return str(label).lower() if isinstance(label, bool) else str(label)
