"""Settings: one table, three places."""

import dataclasses
from pathlib import Path

import pytest

from headwater.errors import ParameterError
from headwater.service.settings import KEYS, PREFIX, Settings, read_settings


def test_every_setting_is_a_key_of_the_file() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(Settings)}
    del fields["config"]
    assert fields == {name: key.default for name, key in KEYS.items()}


def test_the_environment_replaces_the_file_and_options_replace_both(tmp_path: Path) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text('[serve]\nport = 1\nhost = "10.0.0.1"\nbody_bytes = 5\nhosts = ["a.example"]\n')
    environment = {f"{PREFIX}PORT": "2", f"{PREFIX}BODY_BYTES": "6"}
    found = read_settings(file, environment, port=3, host=None)
    assert (found.port, found.body_bytes, found.host) == (3, 6, "10.0.0.1")
    assert found.hosts == ("a.example",)
    listed = read_settings(file, {f"{PREFIX}HOSTS": "b.example, c.example"})
    assert listed.hosts == ("b.example", "c.example")


@pytest.mark.parametrize(
    ("file", "environment", "words"),
    [
        ("[serve]\nporto = 1", {}, "did you mean port"),
        ("[serve]\nport = 'x'", {}, "must be a whole number"),
        ("", {f"{PREFIX}PORT": "x"}, "HEADWATER_SERVE_PORT: expected a whole number, got 'x'"),
        ("[serve]\nbody_seconds = -1", {}, "must be 0 or above"),
    ],
)
def test_a_wrong_setting_is_said_with_its_place(
    tmp_path: Path, file: str, environment: dict[str, str], words: str
) -> None:
    path = tmp_path / "headwater.toml"
    path.write_text(file)
    with pytest.raises(ParameterError, match=words):
        read_settings(path, environment)
