"""The commands about the questions of a live stream: `ask`, `answer`, `correct`, `budget`."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from headwater.cli.columns import column_options, given_columns
from headwater.cli.help import Command
from headwater.cli.live import database_options, find_event
from headwater.cli.mistakes import Mistake, disk
from headwater.cli.outputs import echo_json
from headwater.cli.sources import event_options, open_events, reading
from headwater.errors import AnswerError, HeadwaterError, HeldError, LabelError
from headwater.learners.base import Learner
from headwater.types import Label

try:
    from headwater import live
    from headwater.live.open_questions import OpenEvent
    from headwater.live.plan import plan_budget
    from headwater.live.results import Answered
except ImportError as error:
    raise Mistake(f"{error}") from None

COLUMNS = ("question", "event", "label", "prediction", "probability", "why")
"""The first columns of `ask`; those of the event's features follow."""
YES = {"1", "+1", "true", "yes", "y", "t"}
NO = {"0", "-1", "false", "no", "n", "f"}


@click.command(cls=Command, example="headwater ask --db plant.db --top 50 > ask.csv")
@database_options
@click.option("--top", default=50, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of CSV.")
def ask(db: str, stream: str, top: int, as_json: bool) -> None:
    """List the open questions.

    The list is CSV, the least sure first. Whoever knows an answer writes it into the column
    `label`; `headwater answer` takes the file back. Nothing is changed, and another process may
    write to the database meanwhile.
    """
    with live.read(db, stream) as reader:
        found = reader.open_questions(top)
    if as_json:
        for one in found:
            row = {**one._asdict(), "label": None}
            click.echo(json.dumps(row, ensure_ascii=False, default=str))
        return
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = list(dict.fromkeys(name for one in found for name in one.features))
    heads = [str(name) for name in names]
    heads = [f"feature {name}" if name in COLUMNS else name for name in heads]
    writer.writerow([*COLUMNS, *heads])
    for one in found:
        writer.writerow([*_about(one), *(one.features.get(name, "") for name in names)])
    click.echo(out.getvalue(), nl=False)


def _about(one: OpenEvent) -> list[Any]:
    probability = "" if one.probability is None else f"{one.probability:.3f}"
    guess = "" if one.prediction is None else one.prediction
    return [one.question, one.event, "", guess, probability, one.reason]


class AnswerRow(NamedTuple):
    """A line of a file of answers."""

    line: int
    question: str
    event: str
    label: str
    by: str


@click.command(cls=Command, example="headwater answer --db plant.db ask.csv --by ada")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@database_options
@click.option("--by", metavar="NAME", help="Who answers; or a column `by` says it.")
@click.option("--json", "as_json", is_flag=True, help="The counts as JSON.")
def answer(file: Path, db: str, stream: str, by: str | None, as_json: bool) -> None:
    """Take answers to the questions from a file.

    The file is that of `headwater ask`, CSV or JSON lines, with labels filled in. A line without a
    label is passed over. Lines that cannot be used are named, and all others are learned; the same
    file twice counts once.
    """
    rows = list(_rows(file))
    counts = {"answers": 0, "repeated": 0, "empty": 0, "refused": 0}
    with live.open(db, stream=stream) as plant:
        for row in rows:
            if not row.label:
                counts["empty"] += 1
                continue
            try:
                label = label_for(plant.learner, row.label)
                done = _take(plant, row, label, row.by or by)
                counts["repeated" if done.repeated else "answers"] += 1
            except HeldError:
                raise
            except HeadwaterError as error:
                counts["refused"] += 1
                click.echo(f"{file}, line {row.line}: {error}", err=True)
        plant.apply()
        plant.wait()
    if as_json:
        echo_json(counts)
    else:
        said = [f"{counts['answers']:,} answers"]
        said += [f"{n:,} {name}" for name, n in counts.items() if name != "answers" and n]
        click.echo(f"{db}: {', '.join(said)}.")
    if counts["refused"]:
        raise SystemExit(2)


def _take(plant: live.Loop, row: AnswerRow, label: Label, by: str | None) -> Answered:
    """The answer to a question, or the label of an event that nobody was asked about."""
    if row.question:
        try:
            return plant.desk.answer(int(row.question), label, by=by)
        except ValueError as error:
            if isinstance(error, HeadwaterError):
                raise
            raise AnswerError(f"question must be a number, got {row.question!r}.") from None
    found = find_event(plant, row.event)
    if found.asked:
        return plant.desk.answer(found.number, label, by=by)
    return plant.label(f"#{found.number}", label)


def _rows(file: Path) -> Iterator[AnswerRow]:
    """The lines of a file of answers."""
    try:
        with disk(file):
            text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Mistake(
            f"{file}: expected UTF-8, got the byte 0x{error.object[error.start]:02x} at"
            f" {error.start:,}; save it as CSV in UTF-8."
        ) from None
    first = text.lstrip()[:1]
    if first == "{":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise Mistake(
                        f"{file}, line {number}: expected JSON, one object per line, got"
                        f" {line[:100]!r}."
                    )
                yield _row(number, row)
        return
    lines = csv.DictReader(io.StringIO(text), delimiter=_delimiter(text))
    heads = lines.fieldnames or []
    if "label" not in heads or not {"question", "event"} & set(heads):
        raise Mistake(
            f"{file}: expected the columns question (or event) and label, got"
            f" {', '.join(heads) or 'nothing'}."
        )
    try:
        for row in lines:
            yield _row(lines.line_num, row)
    except csv.Error as error:
        raise Mistake(f"{file}, line {lines.line_num}: {error}.") from None


def _row(line: int, row: dict[str, Any]) -> AnswerRow:
    def said(name: str) -> str:
        value = row.get(name)
        return "" if value is None else str(value).strip()

    return AnswerRow(line, said("question"), said("event"), said("label"), said("by"))


def _delimiter(text: str) -> str:
    """Some spreadsheets write semicolons."""
    head = text.partition("\n")[0]
    return ";" if head.count(";") > head.count(",") else ","


def label_for(learner: Learner, text: str) -> Label:
    """A label as somebody wrote it, in the form that the learner knows."""
    for known in learner.labels:
        if str(known) == text:
            return known
    if learner.task == "regression":
        try:
            return float(text)
        except ValueError:
            raise LabelError(f"expected a number as label, got {text!r}.") from None
    if learner.task == "binary":
        low, word = list(learner.labels), text.lower()
        if word in YES | NO and not isinstance(low[0], str):
            return low[word in YES]
        raise LabelError(f"expected one of the labels {low[0]} and {low[1]}, got {text!r}.")
    numbers = [one for one in learner.labels if isinstance(one, int)]
    return int(text) if text.lstrip("-").isdigit() and len(numbers) == len(learner.labels) else text


@click.command(cls=Command, example="headwater correct --db plant.db --question 17 --label 0")
@database_options
@click.option("--question", type=int, metavar="N", help="The number of the question.")
@click.option("--event", metavar="ID", help="Or the event's id.")
@click.option("--label", required=True, help="The right label.")
@click.option("--by", metavar="NAME", help="Who corrects.")
def correct(
    db: str, stream: str, question: int | None, event: str | None, label: str, by: str | None
) -> None:
    """Put another label in the place of an answer.

    The model is replayed as if the right label had come at first.
    """
    if (question is None) == (event is None):
        raise Mistake("correct: say either --question or --event.")
    with live.open(db, stream=stream) as plant:
        number = find_event(plant, event or "").number if question is None else question
        plant.correct(number, label_for(plant.learner, label), by=by)
        plant.apply()
        plant.wait()
    click.echo(f"{db}: question {number} is {label} now.")


class Budget(click.Group):
    """`budget` with options, and `budget plan FILE`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)
        with formatter.section("Example"):
            formatter.write("  headwater budget --db plant.db --per-day 200 --tz Europe/Berlin\n")


ALLOWANCE = (
    click.option("--per-day", type=click.IntRange(min=1), help="Questions in a calendar day."),
    click.option("--per-hour", type=click.IntRange(min=1), help="Questions in a clock hour."),
    click.option("--per-person-per-hour", type=click.IntRange(min=1), help="Cards for one person."),
    click.option("--money-per-day", type=float, help="What a day may cost; with --price."),
    click.option("--price", type=float, help="What a question costs."),
    click.option("--burst", type=click.IntRange(min=1), help="Questions in a minute."),
    click.option("--hours", metavar="SPAN", help="When people work: 08:00-17:00."),
    click.option("--tz", metavar="ZONE", help="The time zone: Europe/Berlin."),
    click.option("--reserve", type=float, help="Share that measures quality.  [default: 0.3]"),
)


def allowance_options(command: Any) -> Any:
    for option in reversed(ALLOWANCE):
        command = option(command)
    return command


@click.group(cls=Budget, invoke_without_command=True)
@click.option("--db", metavar="URL", help="A path, or postgresql://...")
@click.option("--stream", default="main", show_default=True, help="The stream's name.")
@allowance_options
@click.option("--off", is_flag=True, help="No allowance: the learner's own label rate.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@click.pass_context
def budget(
    ctx: click.Context, /, db: str | None, stream: str, off: bool, as_json: bool, **limits: Any
) -> None:
    """Say how many questions people can answer, or show what is left.

    Options that are not given stay as they are. `headwater budget plan FILE` says beforehand what
    an allowance means for a stream.
    """
    if ctx.invoked_subcommand is not None:
        return
    if db is None:
        raise Mistake("budget: say which database: --db plant.db.")
    given = {name: value for name, value in limits.items() if value is not None}
    if off and given:
        raise Mistake("budget: --off takes no other options.")
    with live.read(db, stream) as reader:
        settings = reader.settings().allowance
        if given:
            settings = replace(settings, **given) if settings else live.Allowance(**given)
        if off or given:
            settings = None if off else settings
            with live.open(db, stream=stream) as plant:
                plant.change_allowance(settings)
        status = reader.allowance()
    told = {"allowance": None if settings is None else settings.to_dict()}
    if as_json:
        echo_json({**told, "status": None if status is None else status._asdict()})
        return
    if settings is None:
        click.echo(f"{db}: there is no allowance; the learner asks at its own rate.")
        return
    pairs = [(name.replace("_", " "), str(value)) for name, value in settings.to_dict().items()]
    if status is not None:
        pairs += [
            (f"used in this {status.window}", f"{status.used:,} of {status.allowed:,}"),
            ("returned", f"{status.returned:,}"),
            ("left", f"{status.left:,}"),
            ("share of events asked about now", f"{status.rate:.2g}"),
        ]
    for name, value in pairs:
        click.echo(f"  {name}: {value}")


@budget.command(cls=Command, example="headwater budget plan events.csv --time at --per-hour 20")
@click.argument("file")
@event_options
@column_options
@allowance_options
@click.option(
    "--people", default=1, show_default=True, type=click.IntRange(min=1), help="How many."
)
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def plan(
    file: str,
    form: str | None,
    on_error: str,
    config: Path | None,
    people: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Say what an allowance means for a stream like FILE: questions per day, how long they wait.

    FILE needs a column with the time. Questions are drawn by chance at the rate that the allowance
    gives; people answer in their hours, as many per hour as the allowance lets them.
    """
    limits = {name: options.pop(name) for name in list(options) if name in _FIELDS}
    given = {name: value for name, value in limits.items() if value is not None}
    allowance = live.Allowance(**given)
    columns, _ = given_columns(options, config, None)
    if columns.time is None:
        raise Mistake(f"{file}: a plan needs the time of each event; --time says which column.")
    events = open_events(file, form, columns, on_error)
    with reading(events):
        times = [time for _, time, _ in events.timed_records() if time is not None]
    found = plan_budget(times, allowance, people)
    if as_json:
        echo_json(found._asdict())
        return
    click.echo(
        f"{found.events:,} events on {found.days:,} days: about {found.questions_per_day:.0f}"
        f" questions a day ({found.fewest:,} to {found.most:,}), {found.used:.0%} of what is"
        f" allowed; no question waits longer than {found.longest_wait / 3600:.1f} hours."
    )


_FIELDS = {
    *("per_day", "per_hour", "per_person_per_hour", "money_per_day", "price"),
    *("burst", "hours", "tz", "reserve"),
}
