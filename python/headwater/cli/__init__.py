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
from headwater.parameters import did_you_mean

SECTIONS = {
    "Your own file": {
        "init": "Look at a file, propose what its columns are for: headwater.toml",
        "run": "Predict each event of a file, then learn its label; save the model",
        "predict": "Predict the events of a file with a saved model",
        "label": "Label a file: answer some questions, and a model does the rest",
    },
    "Saved models": {
        "show": "Show a model: its learner, its counters, its largest weights",
        "diff": "Compare two models: weights, features gained and lost",
        "features": "Show the features of a model or live stream, and their states",
    },
    "Live streams (a database that survives crashes, people who answer)": {
        "serve": "Serve live streams over HTTP, with pages for labelling",
        "work": "Take events from Kafka or MQTT, send questions, learn answers",
        "decide": "Decide on events from Kafka, beside a worker that learns",
        "status": "Show a live stream: events, questions, quality, last facts",
        "ask": "List the open questions",
        "answer": "Take answers to the questions from a file",
        "correct": "Put another label in the place of an answer",
        "budget": "Say how many questions people can answer, or show what is left",
        "replay": "Replay a live stream to another learner, and compare",
        "forget": "Erase an event or a person from a live stream",
        "export": "Write a live stream to a file: JSON lines or Parquet",
        "import": "Make a live stream from an export",
        "backup": "Copy a live database into one file, also while it is used",
        "restore": "Make a live database from a backup",
        "upgrade": "Bring a live database to the newest version, after a backup",
    },
    "Research": {
        "demo": "Watch five learners on a sensor network that grows",
        "study": "Run a study: data sets, streams, learners and label rates",
        "reproduce": "Reproduce a paper: our numbers beside the printed ones",
        "datasets": "List the data sets of the papers, and fetch the public ones",
    },
}
"""Every command by section, in the order of `--help`."""
COMMANDS = {name: text for commands in SECTIONS.values() for name, text in commands.items()}
"""Each command is the function of its name in its own module."""
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
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(list(commands.items()), col_spacing=3)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; of one that does not exist, the nearest in a sentence."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = did_you_mean(name, COMMANDS)
            if name == "help":
                near = "; help is given by headwater --help and headwater COMMAND --help."
            elif os.path.exists(name):
                near = f"; to begin with this file: headwater init {name}"
            raise Mistake(f"there is no command {name!r}{near}")
        return super().resolve_command(ctx, args)

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
