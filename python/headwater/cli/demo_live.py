"""`headwater demo --live`."""

import os
import sys
import tempfile
import threading
from contextlib import redirect_stderr
from pathlib import Path

import click

from headwater.cli.mistakes import Mistake

try:
    from headwater.demo.live_plant import STREAM, LivePlant, make_plant, make_stream, settings_of
    from headwater.service.app import create_app
    from headwater.service.server import Server, free_port
    from headwater.service.settings import Settings
except ImportError as error:
    raise Mistake(f"{error}") from None


def run_plant(seed: int, minutes: float | None, speed: float, port: int) -> None:
    """Run the plant, its experts and the pages until the time is up or Ctrl-C is pressed."""
    plant = make_plant(seed)
    with tempfile.TemporaryDirectory(prefix="headwater-demo-") as folder:
        url = str(Path(folder, "plant.db"))
        make_stream(url, seed)
        settings = Settings(database=url, port=free_port("demo", port), config=settings_of(plant))
        app = create_app(settings)
        service = app.state.service
        visitor = service.access.add_person("you", ["admin"])
        code, _ = service.access.invite(visitor)
        address = f"http://127.0.0.1:{settings.port}"

        def begun() -> None:
            click.echo(f"Label:      {address}/login#{code}")
            click.echo(f"Dashboard:  {address}/s/{STREAM}/")
            click.echo(f"The link logs you in once, within ten minutes; later: {service.new_token}")
            if minutes is None:
                click.echo("Stop by Ctrl-C; nothing is kept.")
            else:
                timer.start()
            sys.stdout.flush()

        source = LivePlant(plant, service, speed=speed, seed=seed, begun=begun)

        def ready(port: int) -> None:
            click.echo(
                f"A plant with {len(plant.sensors)} sensors, at {speed:g} times real time;"
                " sending its first nine days ..."
            )
            source.start()

        server = Server(app, ready)
        timer = threading.Timer((minutes or 0) * 60, _stop, [server])
        timer.daemon = True
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # the log of requests
            try:
                server.run()
            finally:
                timer.cancel()
                if source.started:
                    source.close()
        if source.failure is not None:
            raise Mistake(f"{source.failure}")
    sys.stdout.flush()


def _stop(server: Server) -> None:
    server.should_exit = True
