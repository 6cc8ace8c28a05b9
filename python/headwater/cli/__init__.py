"""The command `headwater`. A mistake of the user gives one sentence and exit code 2.

A command's module is imported when it is called, so that `--help` answers at once.
"""

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from headwater.cli.mistakes import STOPPED, Mistake
from headwater.errors import HeadwaterError

COMMANDS = {
    "init": "Look at a file of events, propose what its columns are for, and write headwater.toml.",
    "run": "Run a learner over a file of events: predict each, learn every label that is there.",
    "serve": "Serve live streams over HTTP: events in, predictions and questions out.",
    "work": "Take events from Kafka or MQTT: predict each, send questions, learn from answers.",
    "label": "Label a file: answer some questions in a browser, and a model does the rest.",
    "ask": "List the open questions of a live stream, for those who can answer them.",
    "answer": "Take answers to the questions of a live stream from a file.",
    "correct": "Put another label in the place of an answer in a live stream.",
    "budget": "Say how many questions people can answer, or show what is left of that.",
    "status": "Show a live stream: events, questions, quality, last facts.",
    "features": "Show the features of a live stream or model: state, rhythm, values, weight.",
    "replay": "Replay a live stream to another learner: how good would it have been?",
    "export": "Write the facts of a live stream to a file: JSON lines or Parquet.",
    "import": "Make a live stream from an export.",
    "backup": "Copy a live database with its snapshots into one file, also while it is used.",
    "restore": "Make a live database from a backup.",
    "upgrade": "Bring the tables of a live database to the newest version, after a backup.",
    "forget": "Erase an event or a person from a live stream.",
    "predict": "Predict the events of a file with a saved model, which does not change.",
    "show": "Show a saved model: its learner, its counters, its largest weights.",
    "diff": "Compare two saved models: weights that changed most, features gained and lost.",
    "demo": "Watch five learners on a sensor network that grows while it runs.",
    "datasets": "List the data sets of the papers, and fetch those that are public.",
    "reproduce": "Reproduce a paper's experiments: our tables and figures beside the printed ones.",
    "study": "Run a study of your own: data sets, streams, learners, label rates in a TOML file.",
}
"""Every command, in the order of `--help`; each is the function of its name in its own module."""
DESK = ("ask", "answer", "correct", "budget")
"""Commands about the questions of live streams are in one module, `desk`."""
LIVE = ("status", "replay", "export", "import", "backup", "restore", "upgrade", "forget")
"""Commands about live streams are in one module, `live`; `import_` is the function of `import`."""


class Commands(click.Group):
    """Commands whose errors of this package are mistakes of the user."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        home = "live" if cmd_name in LIVE else "desk" if cmd_name in DESK else cmd_name
        module = import_module(f"headwater.cli.{home}")
        command: click.Command = getattr(module, "import_" if cmd_name == "import" else cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a character that it lacks is escaped
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno is None:
                raise
            if error.filename is None:
                _give_up_output()
            mistake = Mistake(f"{error.filename or 'standard output'}: {error.strerror}.")
            mistake.show()
            raise SystemExit(mistake.exit_code) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                if sys.stdout is not None:  # as after `>&-`
                    sys.stdout.flush()
        except HeadwaterError as error:
            raise Mistake(str(error)) from error
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            raise SystemExit(STOPPED) from None


def _give_up_output() -> None:
    """Let what cannot be written to standard output go; the end of the process would try again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headwater", message="%(prog)s %(version)s")
def main() -> None:
    """Learn from streams whose features come and go and whose labels are scarce.

    Begin with `headwater init FILE`, then `headwater run FILE --save model.hw`.
    """
