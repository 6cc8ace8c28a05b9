"""`headwater decide`: decide on events from Kafka with the model of an owner, who learns."""

import dataclasses
from pathlib import Path
from typing import Any

import click

from headwater.cli.columns import column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.mistakes import Mistake
from headwater.cli.stopping import stop_wish
from headwater.cli.work import read_settings


@click.command(
    cls=Command,
    example="headwater decide --kafka localhost:9092 --events plant --reports reports"
    " --models models --decisions decisions",
    first=("--kafka", "--events", "--reports", "--models", "--decisions", "--dead"),
)
@click.option(
    "--kafka",
    required=True,
    metavar="HOST",
    help="Brokers of Kafka: host:port, several with commas.",
)
@click.option("--events", required=True, metavar="TOPIC", help="The topic with the events.")
@click.option(
    "--reports",
    required=True,
    metavar="TOPIC",
    help="The topic that headwater work --reports takes.",
)
@click.option(
    "--models", required=True, metavar="TOPIC", help="The topic to which that sends its learners."
)
@click.option("--decisions", metavar="TOPIC", help="The topic to which every decision is sent.")
@click.option(
    "--dead", metavar="TOPIC", help="The topic for messages that cannot be used, with the reason."
)
@click.option(
    "--consumer-group",
    default="headwater-deciders",
    show_default=True,
    metavar="NAME",
    help="The group in which deciders share the partitions.",
)
@click.option(
    "--broker-set",
    "broker_settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of librdkafka, as for encryption.",
)
@column_options
def decide(
    kafka: str,
    events: str,
    reports: str,
    models: str,
    decisions: str | None,
    dead: str | None,
    consumer_group: str,
    broker_settings: tuple[str, ...],
    config: Path | None,
    **options: Any,
) -> None:
    """Decide on events from Kafka, beside a worker that learns.

    Start as many as you like with the same group, up to one for each partition of the events. A
    decider keeps nothing: it may be killed at any moment, and no event is lost, decided twice or
    counted twice. The learner is that of headwater work --reports. Stop it by Ctrl-C or SIGTERM.
    """
    columns, _ = given_columns(options, config)
    if columns.id is None:
        columns = dataclasses.replace(columns, id="id")
    try:
        from headwater.connectors.decider import Decider
    except ImportError as error:
        raise Mistake(f"{error}") from None
    decider = Decider(
        kafka,
        events=events,
        reports=reports,
        models=models,
        decisions=decisions,
        dead=dead,
        group=consumer_group,
        columns=columns,
        settings=read_settings(broker_settings),
        say=click.echo,
    )
    with stop_wish() as wish:
        decider.run(lambda: wish.signal is not None)
    counts = vars(decider.counts)
    click.echo("Stopped. " + ", ".join(f"{name}: {count}" for name, count in counts.items()) + ".")
