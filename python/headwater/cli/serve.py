"""`headwater serve`: live streams over HTTP, in one process on one database."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headwater.cli.help import Command
from headwater.cli.learner_options import build
from headwater.cli.mistakes import Mistake
from headwater.learners.base import Learner

try:
    from headwater.service.app import create_app
    from headwater.service.server import Server
    from headwater.service.settings import KEYS, Settings, read_settings
except ImportError as error:
    raise Mistake(f"{error}") from None

TYPES: dict[str, Any] = {"a whole number": int, "a number": float}


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """One option per setting of `[serve]`."""
    for name, key in reversed(list(KEYS.items())):
        shown = ",".join(key.default) if isinstance(key.default, tuple) else key.default
        command = click.option(
            "--db" if name == "database" else f"--{name.replace('_', '-')}",
            name,
            type=TYPES.get(key.kind, str),
            multiple=key.kind == "a list of texts",
            help=f"{key.meaning[0].upper()}{key.meaning[1:]}.  [default: {shown or 'none'}]",
        )(command)
    return command


@click.command(cls=Command, example="headwater serve --db plant.db", first=("--db", "--port"))
@setting_options
@click.option("--learner", metavar="NAME", help="The learner of a new stream `main`.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="As in run.")
@click.option("--budget", type=float, metavar="SHARE", help="As in run.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--new-token", is_flag=True, help="Make and print another admin token.")
def serve(
    learner: str | None,
    parameters: tuple[str, ...],
    budget: float | None,
    config: Path | None,
    new_token: bool,
    hosts: tuple[str, ...],
    **options: Any,
) -> None:
    """Serve live streams over HTTP, with pages for labelling.

    The first start prints an admin token, once. Stop it by Ctrl-C or SIGTERM: it answers what it
    has, makes a snapshot and ends.
    """
    settings = read_settings(config, hosts=hosts or None, **options)
    learners: dict[str, Learner] = {}
    if learner is not None or parameters or budget is not None:
        learners["main"] = build(learner or "Spring", parameters, budget, 0)
    _check_address(settings)
    app = create_app(settings, learners)
    service = app.state.service
    token = service.new_token
    if new_token and token is None:
        token = service.access.add_token("admin", ["admin"])[1]

    def ready(port: int) -> None:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        if token is not None:
            click.echo(f"Admin token, shown this once: {token}")
        click.echo(f"Serving {', '.join(service.streams)} at http://{host}:{port}")

    Server(app, ready).run()


def _check_address(settings: Settings) -> None:
    """Say at once that an address cannot be had, before the database is opened."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or str(error)
            raise Mistake(f"serve: {settings.host}:{settings.port}: {said}.") from None
