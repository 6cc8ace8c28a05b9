"""A sweep leaves every learner, and its counts, as a run over the file alone does."""

import copy
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_same_bytes import SVMLIGHT, TYPED, VW, made

import headwater as hw
from headwater.errors import EventFileError, HeadwaterError, LabelError, ParameterError

BLOCK = 1_024
"""Lines of a block in the core: files of the tests have several."""

LEARNERS: dict[str, Callable[[], hw.Learner]] = {
    "Linear": hw.Linear,
    "FLLS": lambda: hw.FLLS(kept_share=0.4, seed=3),
    "PAA": lambda: hw.PAA(query_width=0.5),
    "Spring": lambda: hw.Spring(label_rate=0.3, track=True),
    "bounded": lambda: hw.Linear(max_features=3, when_full="oldest", query="all"),
    "FESL": hw.FESL,
    "OLVF": hw.OLVF,
    "SEL2": hw.SEL2,
}


def long_stream(seed: int) -> list[dict[str, Any]]:
    return [event for part in range(4) for event in made(seed + part, lambda t: int(t > 0), None)]


@pytest.mark.parametrize(
    ("name", "write"), (TYPED | VW | SVMLIGHT).items(), ids=[*TYPED, *VW, *SVMLIGHT]
)
def test_every_learner_is_as_it_would_be_alone(
    name: str, write: Callable[[list[dict[str, Any]], Path], None], tmp_path: Path
) -> None:
    events = long_stream(1)
    assert len(events) > 2 * BLOCK
    write(events, tmp_path / name)
    swept, alone = ([make() for make in LEARNERS.values()] for _ in range(2))
    runs = hw.sweep(swept, tmp_path / name)
    for model, other, run in zip(swept, alone, runs, strict=True):
        assert run == other.simulate_file(tmp_path / name)
        assert model.to_bytes() == other.to_bytes()
        assert run.asked > 0


def test_names_that_are_new_in_every_block_are_found(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = []
    for t in range(3 * BLOCK):
        words = {f"word{rng.randrange(10 + t // 4)}": rng.randrange(1, 4) for _ in range(6)}
        pairs = ", ".join(f'"{word}": {count}' for word, count in words.items())
        lines.append(f'{{"y": {rng.randrange(2)}, {pairs}}}\n')
    path = tmp_path / "words.jsonl"
    path.write_text("".join(lines))
    swept, alone = ([hw.FLLS(), hw.Linear(), hw.PAA()] for _ in range(2))
    runs = hw.sweep(swept, path)
    assert runs == [model.simulate_file(path) for model in alone]
    assert [model.to_bytes() for model in swept] == [model.to_bytes() for model in alone]


def write_with(bad: dict[int, str], path: Path) -> Path:
    """Lines of svmlight, some of them others."""
    draws = np.random.default_rng(2).normal(size=2_500)
    path.write_text(
        "".join(
            bad.get(number, f"{1 if x > 0 else -1} 1:{x:.3f} 2:1") + "\n"
            for number, x in enumerate(draws, 1)
        )
    )
    return path


def told(run: Callable[[Path], object], path: Path) -> tuple[type[HeadwaterError], str]:
    with pytest.raises(HeadwaterError) as caught:
        run(path)
    return type(caught.value), str(caught.value)


def test_a_line_that_nobody_can_read_stops_all_of_them_as_it_stops_one(tmp_path: Path) -> None:
    path = write_with({2_000: "1 1:x"}, tmp_path / "bad.svm")
    swept, alone = ([hw.FLLS(), hw.PAA(seed=1), hw.Linear()] for _ in range(2))
    kind, sentence = told(partial(hw.sweep, swept), path)
    assert (kind, "line 2000" in sentence) == (EventFileError, True)
    for model, other in zip(swept, alone, strict=True):
        assert told(other.simulate_file, path) == (kind, sentence)
        assert model.to_bytes() == other.to_bytes()


def test_a_learner_that_cannot_use_a_line_stops_there_and_the_others_go_on(tmp_path: Path) -> None:
    path = write_with({1_500: "7 1:1"}, tmp_path / "seven.svm")
    several, binary = hw.MPAA(), hw.FLLS()
    kind, sentence = told(partial(hw.sweep, [several, binary]), path)
    alone = hw.FLLS()
    assert told(alone.simulate_file, path) == (kind, sentence.removeprefix("learners[1]: "))
    assert kind is LabelError
    assert sentence.startswith("learners[1]: ")
    other = hw.MPAA()
    other.simulate_file(path)
    assert several.to_bytes() == other.to_bytes()
    assert binary.to_bytes() == alone.to_bytes()


def test_each_learner_skips_the_lines_that_it_would_skip_alone(tmp_path: Path) -> None:
    bad = {3: "1 1:x", 1_100: "7 1:1", 1_101: "-1 2:1e200", 2_400: "1 1:2 1:2"}
    path = write_with(bad, tmp_path / "bad.svm")
    swept, alone = ([hw.MPAA(), hw.FLLS(), hw.Linear()] for _ in range(2))
    runs = hw.sweep(swept, path, on_error="skip")
    assert runs == [model.simulate_file(path, on_error="skip") for model in alone]
    assert [run.skipped for run in runs] == [3, 4, 4]
    assert [model.to_bytes() for model in swept] == [model.to_bytes() for model in alone]


def test_the_columns_are_kept_by_every_model(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("rain,note,wet\n2 mm,a,1\n0 mm,b,0\n")
    columns = hw.Columns(label="wet", ignore=["note"], number=["rain"])
    swept, alone = [hw.Linear(), hw.FLLS()], hw.FLLS()
    hw.sweep(swept, path, columns=columns)
    alone.simulate_file(path, columns=columns)
    assert [model.columns for model in swept] == [alone.columns] * 2


def test_what_cannot_be_swept_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    class Mine(hw.PythonLearner):
        def score(self, x: Any) -> float:
            return 0.0

        def learn(self, x: Any, y: Any) -> None:
            pass

    path = write_with({}, tmp_path / "events.svm")
    model = hw.FLLS()
    for learners, part in [
        ([model, hw.PAA(), model], r"learners\[2\]: FLLS\(\) is given twice"),
        ([model, "FLLS"], r"learners\[1\]: expected a learner, got 'FLLS'"),
        (model, r"learners: expected a list of learners, got one; write \[FLLS\(\)\]\."),
        ([model, Mine()], r"learners\[1\]: a learner written in Python"),
    ]:
        with pytest.raises(ParameterError, match=part):
            hw.sweep(learners, path)  # type: ignore[arg-type]
    assert model.seen == 0
    assert hw.sweep([], path) == []
    assert [run.events for run in hw.sweep([model, copy.copy(model)], path)] == [2_500] * 2
