"""The model file is what docs/internals/model-file.md says, and is there whole or not at all."""

import json
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest

import headwater as hw
from model_bytes import take_apart

PAGE = Path(__file__).parents[2] / "docs/internals/model-file.md"

MODELS: dict[str, Callable[[], hw.Learner]] = {
    "binary": lambda: hw.PAA(classes=("dry", "wet")),
    "sparse": lambda: hw.FLLS(kept_share=0.5, l1_radius=0.5),
    "AROW": lambda: hw.Linear(query="all", sparsify=hw.sparsify.KeepLargest(0.3, inf), scale=None),
    "multiclass": lambda: hw.MPAA(update="pa2"),
    "multiclass AROW": lambda: hw.Linear(query="all", sparsify="keep_largest", multiclass=True),
}
MULTICLASS = {"multiclass", "multiclass AROW"}


def taught(name: str) -> hw.Learner:
    model = MODELS[name]()
    labels: list[Any] = ["apple", "lemon", "plum"] if name in MULTICLASS else [*model.labels] * 2
    for turn, label in enumerate(labels * 3):
        model.decide_one({"rain": turn - 1.0, 7: 0.5})
        model.learn_one({"rain": turn - 1.0, "wïnd": 0.0, turn: 1.0}, label)
    return model


# The format


def test_the_parts_of_a_file_stand_where_the_page_says() -> None:
    data = taught("binary").to_bytes()
    assert data[:8] == b"HEADWATR"
    assert struct.unpack("<I", data[8:12]) == (3,)
    (header_length,) = struct.unpack("<I", data[12:16])
    header = json.loads(data[16 : 16 + header_length].decode("utf-8"))
    rest = data[16 + header_length :]
    (state_length,) = struct.unpack("<Q", rest[:8])
    state, checksum = rest[8 : 8 + state_length], rest[8 + state_length :]
    assert struct.unpack("<I", checksum) == (zlib.crc32(data[:-4]),)
    assert isinstance(msgpack.unpackb(state), dict)
    assert header["class"] == "PAA"
    assert header["parameters"]["classes"] == ["dry", "wet"]


def test_parameters_are_written_as_the_page_says() -> None:
    update = hw.update.PA1(C=0.5, positive_margin=hw.update.Balanced(0.8))
    model = hw.Linear(update=update, query=hw.query.Margin(inf), classes=(0, 1))
    header, _ = take_apart(model.to_bytes())
    balanced = {"component": "update.Balanced", "sensitivity_weight": 0.8}
    assert header == {
        "class": "Linear",
        "parameters": {
            "update": {"component": "update.PA1", "C": 0.5, "positive_margin": balanced},
            "query": {"component": "query.Margin", "width": inf},
            "sparsify": None,
            "scale": "running",
            "growth": "open",
            "intercept": True,
            "multiclass": False,
            "class_weight": "balanced",
            "threshold": None,
            "max_features": None,
            "when_full": "smallest",
            "classes": [0, 1],
            "seed": 0,
        },
    }
    assert b"Infinity" in model.to_bytes()


def documented(table: str) -> set[str]:
    """The keys in the first column of a table."""
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {key for cell in first_cells for key in re.findall("`(\\w+)`", cell)}


def test_the_keys_of_the_scaler_are_those_of_the_page() -> None:
    model = hw.Linear(scale="running")
    model.decide_one({"rain": 1.0})
    scaler = take_apart(model.to_bytes())[1]["scaler"]
    section = PAGE.read_text().partition("### `scaler`")[2].partition("###")[0]
    assert set(scaler) == documented(section)


def test_the_keys_of_spring_are_those_of_the_page() -> None:
    model = hw.Spring()
    model.learn_one({"rain": 1.0}, True)
    state = take_apart(model.to_bytes())[1]
    section = PAGE.read_text().partition("### `model`: `spring`")[2].partition("###")[0]
    spring = state["model"]["spring"]
    assert set(spring) == documented(section)
    told = set(re.findall("`(\\w+)`", section))
    assert set(spring["rows"]) | set(spring["rows"]["kinds"][0]) <= told
    assert set(spring["windows"][0]) | set(spring["probability"]) <= told
    assert set(state["scaler"]) >= {"loadings", "summary"}


@pytest.mark.parametrize("name", MODELS)
def test_the_keys_of_the_state_are_those_of_the_page(name: str) -> None:
    table, _, model_table = PAGE.read_text().partition("## The state")[2].partition("### `query`")
    model_table = model_table.partition("### `model`")[2]
    _, state = take_apart(taught(name).to_bytes())
    assert set(state) - {"open"} == documented(table)
    assert set(state.get("open", {"numbers", "fingerprints"})) == {"numbers", "fingerprints"}
    assert list(state["model"]) == ["linear"]
    weighed = ["class_odds"] if name == "AROW" else []
    assert list(state["model"]["linear"]) == ["weights", *weighed]
    assert set(state["model"]["linear"]["weights"]) == documented(model_table.partition("###")[0])
    row = next(line for line in table.splitlines() if line.startswith("| `calibration`"))
    no_labels = {"labels", "scores"} if name == "AROW" else set()  # it has a slope of its own
    in_file = set(state["calibration"]) | no_labels
    assert in_file == set(re.findall("`(\\w+)`", row.split("|")[2]))


def keys_of(part: Any) -> set[str]:
    """Every key in a state; those of a map by names, as classes are, are left out by who asks."""
    if isinstance(part, dict):
        return set(part) | {key for value in part.values() for key in keys_of(value)}
    if isinstance(part, list):
        return {key for value in part for key in keys_of(value)}
    return set()


EVERY_KIND: list[hw.Learner] = [
    *(hw.Linear(), hw.Spring(label_rate=1.0), hw.PARegressor(), hw.OLVF(), hw.SEL2(), hw.OFSP()),
    *(hw.FESL(), hw.RFESL(), hw.Linear(query=hw.query.SelAda()), hw.Linear(query="quota")),
]


@pytest.mark.parametrize("model", EVERY_KIND, ids=lambda model: repr(model))
def test_every_key_of_a_state_stands_on_the_page(model: hw.Learner) -> None:
    for t in range(12):
        event = {f"s{i}": (t * 7 + i * 3) % 11 - 5.0 for i in range(3)}
        model.decide_one(event)
        model.learn_one(event, float(t % 2) if model.task == "regression" else t % 2 == 0)
    _, state = take_apart(model.to_bytes())
    on_page = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert keys_of(state) - on_page == set()


def test_every_learner_of_the_package_can_be_loaded_by_a_process_that_has_used_none() -> None:
    folder = Path(hw.__file__ or "").parent / "learners"
    shared = {"base", "model_file", "parts", "shared_parameters", "feature_history", "atomic_file"}
    shared |= {"python_learner", "plain_state", "sweep_files"}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"} - shared
    program = (
        "import sys, headwater.learners;"
        f"print({sorted(modules)!r} == sorted(n.split('.')[2] for n in sys.modules"
        f" if n.startswith('headwater.learners.') and n.split('.')[2] in {sorted(modules)!r}))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout.strip() == "True", said.stderr


RULES = ["all", "random", "quota", "margin", "sel_ada", "decaying", "budget", "quantile"]


def test_what_a_query_rule_remembers_is_as_the_page_says() -> None:
    section = PAGE.read_text().partition("### `query`")[2].partition("###")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    described = {
        rule: set(re.findall("`(\\w+)`", cells[2]))
        for cells in rows
        for rule in re.findall("`(\\w+)`", cells[1])
    }
    for word in RULES:
        model = hw.Linear(query=word)
        model.decide_one({"rain": 1.0})
        written = take_apart(model.to_bytes())[1]["query"]
        if word not in described:
            assert written == "none"
            continue
        given = described[word] & {"given_events", "given_rates"}  # written if rates were given
        assert {key: set(value) for key, value in written.items()} == {
            word: described[word] - given
        }
        if given:
            model.decide_one({"rain": 1.0}, rate=0.5)
            assert set(take_apart(model.to_bytes())[1]["query"][word]) == described[word]


@pytest.mark.parametrize("name", MODELS)
def test_the_state_is_what_the_learner_says_of_itself(name: str) -> None:
    model = taught(name)
    _, state = take_apart(model.to_bytes())
    assert (state["seen"], state["asked"], state["learned"]) == (
        model.seen,
        model.asked,
        model.learned,
    )
    history = zip(state["names"], state["first"], state["last"], state["times"], strict=True)
    assert list(history) == [feature[:4] for feature in model.features()]
    linear, names = state["model"]["linear"]["weights"], state["names"]
    if state["scaler"]:  # a value and a presence of each
        names = [one for name in names for one in (name, f"{name} (present)")]
    vectors = [
        {name: scale * value for name, value in zip(names, stored, strict=True) if value}
        for scale, stored in zip(linear["scales"], linear["values"], strict=True)
    ]
    if name in MULTICLASS:
        assert state["classes"] == list(model.labels)
        assert dict(zip(model.labels, vectors, strict=True)) == model.weights()
        assert state["label_form"] == "open"
    else:
        assert vectors == [model.weights()]
        assert state["positives"] + state["negatives"] == model.learned
    assert bool(linear["variances"]) == ("AROW" in name)
    if name in ("sparse", "multiclass AROW"):
        for (total, compensation), stored in zip(linear["norms"], linear["values"], strict=True):
            assert total + compensation == pytest.approx(sum(map(abs, stored)))
    assert len(state["coins"]) == len(state["draws"]) == 4


FORMS: list[tuple[list[Any], str]] = [
    ([], "unknown"),
    ([True], "bool"),
    ([1], "one"),
    ([1, 0], "zero_one"),
    ([1, -1], "sign"),
]


@pytest.mark.parametrize(("labels", "form"), FORMS, ids=[form for _, form in FORMS])
def test_the_form_of_the_labels_is_written(labels: list[Any], form: str) -> None:
    model = hw.PAA()
    for label in labels:
        model.learn_one({"rain": 1.0}, label)
    assert take_apart(model.to_bytes())[1]["label_form"] == form
    assert f'"{form}"' in PAGE.read_text()
    assert hw.from_bytes(model.to_bytes()).labels == model.labels


# The generators


def uniform(words: list[int]) -> float:
    """The next number of xoshiro256++: the top 53 bits times 2^-53."""
    mask = 2**64 - 1
    total = (words[0] + words[3]) & mask
    rotated = ((total << 23) | (total >> 41)) & mask
    return float((((rotated + words[0]) & mask) >> 11) * 2.0**-53)


def test_the_coins_of_a_file_are_those_that_fall_next() -> None:
    for seed in range(20):
        model = hw.Linear(query=hw.query.Random(0.5), seed=seed)
        coin = uniform(take_apart(model.to_bytes())[1]["coins"])
        assert model.query_one({}) == (coin < 0.5)


# Files


def test_a_failed_save_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError, match=r"model\.hw"):
        taught("binary").save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.hw"]
    assert [entry.name for entry in path.iterdir()] == ["inside"]


SAVE_WITHOUT_ROOM = """
import resource, signal, sys
import headwater as hw

model = hw.PAA()
model.learn_one({number: 1.0 for number in range(50_000)}, True)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    model.save(sys.argv[1])
except OSError:
    print("no room")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    small = taught("binary")
    small.save(path)
    command = [sys.executable, "-c", SAVE_WITHOUT_ROOM, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout == "no room\n", found.stderr
    assert path.read_bytes() == small.to_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.hw"]


def test_saving_replaces_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    for name in MODELS:
        model = taught(name)
        model.save(path)
        assert path.read_bytes() == model.to_bytes()
        assert [entry.name for entry in tmp_path.iterdir()] == ["model.hw"]


def test_a_saved_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    hw.PAA().save(tmp_path / "model.hw")
    assert (tmp_path / "model.hw").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_path_may_be_text_or_a_path_or_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = taught("binary")
    for path in ("model.hw", Path("model.hw"), str(tmp_path / "model.hw")):
        model.save(path)
        assert hw.load(path).to_bytes() == model.to_bytes()


# Large models


@pytest.mark.parametrize("name", MODELS)
def test_a_large_model_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 5_000))
    names: list[str | int] = [f"wort-ä-{column}" for column in range(2_500)]
    names += range(-1_250, 1_250)
    model = MODELS[name]()
    known = ["apple", "lemon", "plum"] if name in MULTICLASS else [*model.labels]
    labels = [known[turn % len(known)] for turn in range(60)]
    model.learn_many(values[:30], labels[:30], names=names)
    assert len(model.features()) >= 5_000
    model.save(tmp_path / "large.hw")
    loaded = hw.load(tmp_path / "large.hw")
    assert loaded.weights() == model.weights()
    assert loaded.features() == model.features()
    for other in (model, loaded):
        other.simulate(values[30:], labels[30:], names=names)
    assert loaded.to_bytes() == model.to_bytes()
