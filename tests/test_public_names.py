"""The public names are those that are meant to be, and every algorithm of the papers has one."""

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest

import headwater as hw

REQUIRED = [
    *("FLLS", "FLLS-I", "FLLS-II", "RFLLS", "RFLLS-I", "RFLLS-II", "PEA", "RPEA"),
    *("FLLS-I_SN", "FLLS-I_SI", "FLLS-I_f"),
    *("OLSF", "OLSF-I", "OLSF-II", "OLSF-I-all", "OLSF-I-rand", "OLSF-I-per", "OFS", "OFS_P"),
    *("PE", "PA", "PA-I", "PA-II", "PAA", "PAA-I", "PAA-II", "SEL-ada", "SEL-2nd"),
    "OLVF",
    *("RPE", "RPA", "RPA-I", "RPA-II"),
    *("CSPAA", "CSPAA(a)", "CSRND", "PAUM", "CPA", "CW-diag", "LEPE"),
    *("MPE", "MPA", "MPA-I", "MPA-II", "MPEA", "MPAA", "MPAA-I", "MPAA-II"),
    *("MRPE", "MRPA", "MRPA-I", "MRPA-II"),
    *("FESL-c", "FESL-s", "NOGD", "ROGD-u", "ROGD-f", "RFESL"),
]

VERBS = [
    *("predict_one", "predict_proba_one", "margin_one", "query_one", "decide_one"),
    *("learn_one", "answer", "predict_many", "predict_proba_many", "margin_many"),
    *("learn_many", "simulate", "simulate_file", "weights", "explain_one", "features", "labels"),
    *("seen", "asked", "learned", "parameters", "save", "to_bytes"),
]

INTERNAL = {
    *("display", "register"),
    *("_core", "adapters", "catalogue", "cli", "client", "demo", "inputs", "learners"),
    "connectors",
    "parameters",
    *("rules", "service", "session", "studies", "types"),
}
"""Parts of the package that a user reaches through the public names only."""


def test_all_lists_what_is_public() -> None:
    for name in hw.__all__:
        getattr(hw, name)  # imported now, if it was not used before
    public = {name for name in vars(hw) if not name.startswith("_")} - INTERNAL
    assert set(hw.__all__) - {"__version__"} == public
    assert len(hw.__all__) == len(set(hw.__all__))
    stub = ast.parse(Path(hw.__file__ or "").with_suffix(".pyi").read_text(encoding="utf-8"))
    lists = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert [sorted(ast.literal_eval(names)) for names in lists] == [sorted(hw.__all__)]


def test_importing_the_package_imports_little() -> None:
    code = "import sys, headwater; print('numpy' in sys.modules, headwater.Linear.__name__)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "Linear"]


def test_public_names_say_where_they_come_from() -> None:
    for name in hw.__all__:
        value = getattr(hw, name)
        if isinstance(value, types.ModuleType):
            assert value.__name__.startswith("headwater.")
        elif name != "__version__":
            assert value.__module__.startswith("headwater"), name


def test_every_algorithm_of_the_papers_has_its_name() -> None:
    assert [name for name in REQUIRED if name not in hw.names()] == []
    assert len(hw.names()) == len(set(hw.names()))


@pytest.mark.parametrize("name", REQUIRED)
def test_a_name_makes_a_learner_with_all_verbs(name: str) -> None:
    model = hw.named(name, seed=1)
    assert isinstance(model, hw.Learner)
    assert [verb for verb in VERBS if not hasattr(model, verb)] == []
    assert model.parameters()["seed"] == 1


@pytest.mark.parametrize(
    "kind", [hw.update, hw.query, hw.sparsify, hw.scale], ids=lambda m: m.__name__
)
def test_a_word_stands_for_the_defaults_of_a_component(kind: types.ModuleType) -> None:
    component = kind.__name__.rpartition(".")[2]
    base = getattr(kind, component.capitalize())
    words = {value.word: value for value in base.__subclasses__()}
    assert len(words) == len(base.__subclasses__()) > 0
    for word, value in words.items():
        by_word = hw.Linear(**{component: word})
        by_value = hw.Linear(**{component: value()})
        assert getattr(by_value, component) == value()
        for model in (by_word, by_value):
            for label in (True, False, True):
                model.learn_one({"rain": 1.0, "wind": -0.5}, label)
        assert by_word.weights() == by_value.weights()
        assert value.__name__ in vars(kind)
