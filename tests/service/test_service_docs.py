"""The pages about the service: every command runs, every table is that of the program."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx2
import pytest

import headwater as hw
from headwater.cli.serve import serve
from headwater.service.api import OPERATIONS
from headwater.service.app import create_app
from headwater.service.openapi import routes_table
from headwater.service.server import Server
from headwater.service.settings import Settings, read_settings
from service.process import PROGRAM, Served, free_port
from service.running import running

DOCS = Path(__file__).parent.parent.parent / "docs" / "operate"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKED = """set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
"""
"""A reply with an error ends the program."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    folder = tmp_path_factory.mktemp("docs")
    headwater = folder / "bin" / "headwater"
    headwater.parent.mkdir()
    headwater.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{PROGRAM}" "$@"\n')
    headwater.chmod(0o755)
    with Served(folder / "plant.db") as one:
        yield one, folder


def program(page: str, one: Served) -> str:
    """The commands of a page, for this service; starting it and installing it are done already."""
    text = "".join(BLOCK.findall((DOCS / page).read_text()))
    done = ('pip install "headwater[serve]"\n', "headwater serve --db plant.db\n")
    for line in done:
        text = text.replace(line, "")
    assert "headwater serve" not in text
    text = text.replace("hwt_...", one.token).replace("localhost:8420", f"localhost:{one.port}")
    return CHECKED + text


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", ["serve.md", "integrate.md", "operate.md", "secure.md"])
def test_the_commands_of_a_page_run(page: str, served: tuple[Served, Path]) -> None:
    one, folder = served
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TOKEN": one.token}
    text = program(page, one)
    assert text.count("\n") > 5
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env=environment, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_for_python_runs(served: tuple[Served, Path]) -> None:
    one, _ = served
    found = re.search(
        r"```python run-with-service\n(.*?)```", (DOCS / "integrate.md").read_text(), re.DOTALL
    )
    assert found is not None
    exec(found[1], {"URL": one.url, "TOKEN": one.token})


def test_the_unit_of_systemd_starts_the_service_with_options_that_there_are() -> None:
    found = re.search(r"```ini\n(.*?)```", (DOCS / "operate.md").read_text(), re.DOTALL)
    assert found is not None
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(found[1])
    command, verb, *options = unit["Service"]["ExecStart"].split()
    assert (command.rpartition("/")[2], verb) == ("headwater", "serve")
    context = click.Context(serve)
    serve.parse_args(context, list(options))
    assert context.params["hosts"] == ("plant.example.com",)
    assert context.params["database"].startswith(unit["Service"]["ReadWritePaths"])


def test_behind_the_proxy_of_the_page_cookies_are_secure(tmp_path: Path) -> None:
    page = (DOCS / "operate.md").read_text()
    names = re.findall(r"proxy_set_header (\S+)", page)
    assert names == ["Host", "X-Forwarded-Proto", "X-Forwarded-For"]
    port = free_port()
    settings = Settings(database=str(tmp_path / "p.db"), port=port, hosts=("plant.example.com",))
    app = create_app(settings)
    ready = threading.Event()
    server = Server(app, lambda port: ready.set())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60)
        headers = {"Host": "plant.example.com", "X-Forwarded-Proto": "https"}
        body: dict[str, Any] = {"token": app.state.service.new_token}
        reply = httpx2.post(f"http://127.0.0.1:{port}/session", json=body, headers=headers)
        assert "Secure" in reply.headers["set-cookie"]
        origin = {**headers, "Origin": "https://plant.example.com"}
        again = httpx2.post(f"http://127.0.0.1:{port}/session", json=body, headers=origin)
        assert again.status_code == 200
    finally:
        server.should_exit = True
        thread.join(60)


def test_the_file_of_the_page_makes_its_streams(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", (DOCS / "serve.md").read_text(), re.DOTALL)
    assert found is not None
    file = tmp_path / "headwater.toml"
    file.write_text(found[1])
    config = read_settings(file, {}).config
    with running(tmp_path / "plant.db", hw.Spring(), config=config) as one:
        told = {stream["name"]: stream["learner"] for stream in one.admin.get("/v1/streams").json()}
        assert told.keys() == {"north", "main"}
        assert one.admin.get("/v1/streams/north/budget").json()["allowed"] == 200


def test_every_route_stands_in_its_page() -> None:
    assert routes_table(OPERATIONS) in (DOCS.parent / "reference" / "service-api.md").read_text()
