"""`headwater work`: take events from a broker, decide, ask, and learn from answers."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater.cli.columns import column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.learner_options import build, value_of
from headwater.cli.mistakes import Mistake
from headwater.cli.stopping import stop_wish

DAY = 86_400.0


@click.command(
    cls=Command,
    example="headwater work --kafka localhost:9092 --events plant --answers answers"
    " --questions questions --db postgresql://localhost/plant",
    first=("--kafka", "--mqtt", "--events", "--answers", "--questions", "--db"),
)
@click.option("--kafka", metavar="HOST", help="Brokers of Kafka: host:port, several with commas.")
@click.option("--mqtt", metavar="HOST", help="A broker of MQTT: host or host:port.")
@click.option("--events", metavar="TOPIC", help="The topic with the events.")
@click.option("--answers", metavar="TOPIC", help="The topic with the answers.")
@click.option("--questions", metavar="TOPIC", help="The topic to which questions are sent.")
@click.option("--decisions", metavar="TOPIC", help="The topic to which every decision is sent.")
@click.option(
    "--reports",
    metavar="TOPIC",
    help="In place of --events: the topic to which headwater decide reports (Kafka).",
)
@click.option(
    "--models", metavar="TOPIC", help="The topic by which headwater decide gets the learners."
)
@click.option(
    "--refresh",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="The shortest time between two models in --models.",
)
@click.option(
    "--dead", metavar="TOPIC", help="The topic for messages that cannot be used, with the reason."
)
@click.option(
    "--db",
    required=True,
    metavar="URL",
    help="A database that all workers reach: postgresql://..., or on one host a path (SQLite).",
)
@click.option(
    "--per",
    type=click.Choice(("partition", "key")),
    default="partition",
    show_default=True,
    help="What has a learner of its own; a key of MQTT is a topic.",
)
@click.option(
    "--consumer-group",
    default="headwater",
    show_default=True,
    metavar="NAME",
    help="The group of Kafka in which workers share the partitions; the client's name in MQTT.",
)
@click.option(
    "--broker-set",
    "broker_settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of librdkafka, as for encryption; of MQTT: user, password, tls.",
)
@click.option(
    "--answer-within",
    type=float,
    default=0.0,
    metavar="DAYS",
    help="How long labels are taken for events that were not asked about.  [default: 0]",
)
@click.option("--learner", default="Spring", show_default=True, metavar="NAME", help="As in run.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="As in run.")
@click.option("--budget", type=float, metavar="SHARE", help="As in run.")
@click.option("--seed", type=int, default=0, show_default=True, help="As in run.")
@column_options
def work(
    kafka: str | None,
    mqtt: str | None,
    db: str,
    per: str,
    consumer_group: str,
    broker_settings: tuple[str, ...],
    answer_within: float,
    learner: str,
    parameters: tuple[str, ...],
    budget: float | None,
    seed: int,
    config: Path | None,
    events: str | None,
    reports: str | None,
    models: str | None,
    refresh: float,
    answers: str | None,
    questions: str | None,
    decisions: str | None,
    dead: str | None,
    **options: Any,
) -> None:
    """Take events from Kafka or MQTT, send questions, learn answers.

    Start as many as you like with the same group: they share the partitions. Each may be killed at
    any moment; no event is lost or decided twice. Stop it by Ctrl-C or SIGTERM. With --reports and
    --models it decides nothing itself: it owns the learner of deciders, headwater decide.
    """
    if (kafka is None) == (mqtt is None):
        raise Mistake("work: expected --kafka HOST or --mqtt HOST, one of them.")
    if mqtt is not None and (reports is not None or models is not None):
        raise Mistake("work: deciders need --kafka; MQTT keeps no places to go on from.")
    if (events is None) == (reports is None):
        raise Mistake(
            "work: expected --events TOPIC, or --reports TOPIC if headwater decide takes the"
            " events; one of them."
        )
    if (reports is None) != (models is None):
        raise Mistake("work: expected --reports TOPIC and --models TOPIC together.")
    roles = next((name for name, value in options.items() if value is not None), None)
    if reports is not None and roles is not None:
        raise Mistake(
            f"work: --{roles.replace('_', '-')} is about events; with --reports it is an option of"
            " headwater decide."
        )
    model = build(learner, parameters, budget, seed)
    columns, _ = given_columns(options, config)
    if columns.id is None:
        columns = dataclasses.replace(columns, id="id")
    topics: dict[str, Any] = {
        "answers": answers,
        "questions": questions,
        "decisions": decisions,
        "dead": dead,
    }
    settings = read_settings(broker_settings)
    common: dict[str, Any] = {
        "per_key": per == "key",
        "columns": columns,
        "answer_within": answer_within * DAY,
        "say": click.echo,
    }
    try:
        if kafka is not None:
            from headwater.connectors import kafka as kafka_broker

            source = kafka_broker.Kafka(
                kafka,
                events=events,
                reports=reports,
                models=models,
                **topics,
                group=consumer_group,
                settings=settings,
            )
            worker = kafka_broker.worker(source, db, model, **common, refresh=refresh)
        else:
            from headwater.connectors import mqtt as mqtt_broker

            assert mqtt is not None
            assert events is not None
            client = mqtt_broker.Mqtt(
                mqtt, events=events, **topics, client=consumer_group, **_mqtt_settings(settings)
            )
            worker = mqtt_broker.worker(client, db, model, **common)
    except ImportError as error:
        raise Mistake(f"{error}") from None
    with stop_wish() as wish:
        worker.run(lambda: wish.signal is not None)
    counts = vars(worker.counts)
    click.echo("Stopped. " + ", ".join(f"{name}: {count}" for name, count in counts.items()) + ".")


def read_settings(settings: tuple[str, ...]) -> dict[str, Any]:
    """The settings of `--broker-set`."""
    read: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise Mistake(f"--broker-set: expected NAME=VALUE, got {setting!r}.")
        read[name] = value
    return read


def _mqtt_settings(settings: dict[str, Any]) -> dict[str, Any]:
    known: dict[str, Callable[[str], Any]] = {"user": str, "password": str, "tls": value_of}
    for name in settings:
        if name not in known:
            raise Mistake(f"--broker-set: MQTT has no setting {name!r}; it has {', '.join(known)}.")
    return {name: known[name](value) for name, value in settings.items()}
