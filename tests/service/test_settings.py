"""Settings: one table, three places."""

import dataclasses
from pathlib import Path

import pytest

from headwater.errors import ParameterError
from headwater.service.service import Service
from headwater.service.settings import KEYS, PREFIX, Settings, read_settings
from headwater.service.stream_settings import StreamSettings


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


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "headwater.toml"
    path.write_text(text)
    return path


def test_an_allowance_of_the_file_bounds_every_stream_also_those_made_later(tmp_path: Path) -> None:
    file = config(tmp_path, '[allowance]\nper_day = 5\ntz = "UTC"\n[streams.north]\n')
    settings = read_settings(file, {}, database=str(tmp_path / "plant.db"))
    service = Service(settings)
    try:
        made = StreamSettings(allowance=service.allowance)
        service.open_stream("later", made.build(), made)
        for name in ("north", "later"):
            loop = service.stream(name)
            asked = sum(loop.receive({"x": float(n)}).asked for n in range(300))
            assert 0 < asked <= 5
            assert loop.allowance is not None
            assert loop.allowance.allowed == 5
    finally:
        service.close()


def test_an_allowance_and_labels_of_the_file_that_cannot_be_are_said(tmp_path: Path) -> None:
    for text, words in (
        ("[allowance]\nper_day = 5", r"\[allowance\]: Allowance: per_day, .* need tz"),
        ("[streams.main]\nlabels = 'some'", "labels must be 'asked' or 'all', got 'some'"),
        (
            "[allowance]\nper_hour = 5\n[streams.main]\nlearner = 'OLSF'",
            "an allowance needs a learner whose query rule takes a rate",
        ),
    ):
        settings = read_settings(config(tmp_path, text), {}, database=str(tmp_path / "plant.db"))
        with pytest.raises(ParameterError, match=words):
            Service(settings)


def test_a_stream_of_the_file_whose_labels_all_come(tmp_path: Path) -> None:
    text = "[streams.main]\nlabels = 'all'\nanswer_within = '7 days'"
    settings = read_settings(config(tmp_path, text), {}, database=str(tmp_path / "plant.db"))
    service = Service(settings)
    try:
        loop = service.stream("main")
        for number in range(20):
            loop.receive({"x": float(number % 3)}, id=number)
            loop.label(number, number % 3 == 0)
        assert loop.quality().labels == 20
    finally:
        service.close()
