"""`headwater show`."""

import json
from pathlib import Path

import click

from headwater.cli.feature_table import print_findings, register_counts
from headwater.cli.help import Command
from headwater.cli.model_tables import knowledge, print_knowledge, print_pairs, spelled
from headwater.cli.outputs import echo_json
from headwater.cli.sources import read_model, top_option
from headwater.learners.model_file import write_header


@click.command(cls=Command, example="headwater show model.hw --top 20")
@click.argument("model", type=click.Path(path_type=Path))
@top_option
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def show(model: Path, top: int, as_json: bool) -> None:
    """Show a model: its learner, its counters, its largest weights."""
    learner = read_model(model)
    header = json.loads(write_header(type(learner).__name__, learner.parameters()))
    told = {
        "learner": header["class"],
        "parameters": header["parameters"],
        "labels": list(learner.labels),
        "columns": None if learner.columns is None else learner.columns.to_plain(),
        "seen": learner.seen,
        "asked": learner.asked,
        "learned": learner.learned,
        "refused": learner.refused,
        "evicted": learner.evicted,
        "bytes": model.stat().st_size,
        **knowledge(learner, top),
        **({"register": register_counts(learner.register, top)} if learner.track else {}),
    }
    if as_json:
        echo_json(told)
        return
    from rich.console import Console

    console = Console()
    parameters = ((name, repr(value)) for name, value in learner.parameters().items())
    print_pairs(console, f"{model}: {header['class']}", parameters)
    bounded = (
        []
        if told["parameters"].get("max_features") is None
        else [
            ("new names refused", learner.refused),
            ("features evicted", learner.evicted),
        ]
    )
    pairs = [
        ("labels", ", ".join(map(spelled, learner.labels)) or "none"),
        ("events decided on", learner.seen),
        ("labels asked for", learner.asked),
        ("events learned", learner.learned),
        ("features learned from", told["features"]),
        ("weights that are not 0", told["weights"]),
        *bounded,
        ("bytes", told["bytes"]),
    ]
    print_pairs(console, "What it has seen", pairs)
    if learner.columns is not None:
        roles = [(role, spelled(name)) for role, name in learner.columns.roles()]
        units = [("unit of " + spelled(name), unit) for name, unit in learner.columns.units.items()]
        print_pairs(console, "The columns that it was trained on", [*roles, *units])
    print_knowledge(console, told)
    if learner.track:
        print_findings(console, learner.register, top)
