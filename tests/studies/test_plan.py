"""Studies as TOML files: what they mean, and how mistakes in them are named."""

from pathlib import Path

import pytest

from headwater.errors import ParameterError
from headwater.studies.executor import asks_by_width, needs_choice
from headwater.studies.plan import LabelDelivery, StreamPlan
from headwater.studies.plan_file import read_study
from headwater.studies.study import packaged

LEAST = 'title = "t"\ndata = ["vote"]\n[learners.PA]\n'


def read(folder: Path, text: str) -> object:
    file = folder / "study.toml"
    file.write_text(text)
    return read_study(file)


@pytest.mark.parametrize("name", packaged())
def test_every_packaged_study_can_be_read_and_its_learners_exist(name: str) -> None:
    study = read_study(packaged()[name])
    assert study.title
    for cell in study.cells():
        asks_by_width(study, cell)  # builds the algorithm's parameter list
        needs_choice(study, cell)


def test_cells_are_the_product_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'title = "t"\ndata = ["vote", "wdbc"]\nlabel_rates = [0.1, 0.2]\n'
        "labels = [{ delay = 5 }, { delay = 0, wrong = 0.1, never = 0.2 }]\n"
        '[streams.a]\nkind = "Varying"\n[streams.b]\nkind = "Trapezoid"\nchunks = 3\n'
        '[learners.PAA]\n[learners.RPA]\nstreams = ["b"]\n'
    )
    study = read_study(file)
    assert [cell.key for cell in study.cells() if cell.data == "vote"] == [
        "vote|a|PAA|0.1|5 events late",
        "vote|a|PAA|0.1|at once, 10 % wrong, 20 % never",
        "vote|a|PAA|0.2|5 events late",
        "vote|a|PAA|0.2|at once, 10 % wrong, 20 % never",
        "vote|b|PAA|0.1|5 events late",
        "vote|b|PAA|0.1|at once, 10 % wrong, 20 % never",
        "vote|b|PAA|0.2|5 events late",
        "vote|b|PAA|0.2|at once, 10 % wrong, 20 % never",
        "vote|b|RPA|0.1|5 events late",
        "vote|b|RPA|0.1|at once, 10 % wrong, 20 % never",
        "vote|b|RPA|0.2|5 events late",
        "vote|b|RPA|0.2|at once, 10 % wrong, 20 % never",
    ]
    assert study.labels == (LabelDelivery(5), LabelDelivery(0, 0.1, 0.2))
    assert study.stream_plan("b") == StreamPlan("b", "Trapezoid", {"chunks": 3})


def test_a_list_is_a_grid_whose_first_parameter_changes_slowest(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'title = "t"\ndata = ["vote"]\nchoose = "orders"\n'
        "[learners.OLVF]\nC = [1, 2]\nC_space = [3, 4]\nkept_share = 0.5\n"
    )
    plan = read_study(file).learners[0]
    assert plan.choices() == [
        {"C": 1, "C_space": 3},
        {"C": 1, "C_space": 4},
        {"C": 2, "C_space": 3},
        {"C": 2, "C_space": 4},
    ]
    assert plan.parameters == {"kept_share": 0.5}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = ", "study.toml: is not TOML"),
        ('title = "t"\n[learners.PA]\n', "a study needs data."),
        ('data = ["vote"]\n[learners.PA]\n', "a study needs title."),
        ('title = "t"\ndata = ["vote"]\n', "a study needs learners."),
        ("repeat = 3\n" + LEAST, "a study has no 'repeat'; did you mean repeats?"),
        ("repeats = 0\n" + LEAST, "repeats must be a whole number, 1 or above, got 0."),
        ("repeats = true\n" + LEAST, "repeats must be a whole number, 1 or above, got True."),
        ("held_out = 1.0\n" + LEAST, "held_out must be in [0, 1), got 1.0."),
        (
            'preprocess = "big"\n' + LEAST,
            "preprocess must be one of raw, z-score, unit, rows, min-max",
        ),
        ("label_rates = [0]\n" + LEAST, "label_rates must be in (0, 1], got 0."),
        ("labels = [1]\n" + LEAST, "labels must be tables of delay, wrong and never, got 1"),
        ("labels = [{ late = 1 }]\n" + LEAST, "labels has no 'late'"),
        ('compare = "PAA"\n' + LEAST, "compare must be one of PA, got 'PAA'."),
        ("reach = 0.1\n" + LEAST, "reach must be one of label_rates, and compare a learner."),
        ('score = "test_accuracy"\n' + LEAST, "the score test_accuracy needs held_out"),
        (LEAST + "C = [1, 2]\n", 'choose = "folds" needs held_out'),
        (LEAST + "C = []\n", "learners.PA: the grid of C is empty."),
        (LEAST + 'streams = ["odd"]\n', "PA: there is no stream 'odd'."),
        (LEAST + "[streams.s]\n", "streams.s needs a kind"),
        ('title = "t"\ndata = [1]\n[learners.PA]\n', "data must be names or tables"),
        ("paper = 3\n" + LEAST, "paper must be a table, got 3."),
        (LEAST + '[paper]\nname = "FLLS"\n', "paper needs 'tables'."),
    ],
)
def test_a_mistake_is_a_sentence_that_names_the_file(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        read(tmp_path, text)
    assert "study.toml" in str(caught.value)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"cannot be read: No such file"):
        read_study(tmp_path / "none.toml")


def test_a_learner_may_have_its_own_preprocessing_and_number_of_choices(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'title = "t"\ndata = ["vote"]\npreprocess = "unit"\nchoice_repeats = 3\n'
        '[learners.PA]\n[learners.PAA]\npreprocess = "raw"\nchoice_repeats = 24\n'
    )
    study = read_study(file)
    assert [study.preprocess_for(name) for name in ("PA", "PAA")] == ["unit", "raw"]
    assert [study.choice_repeats_for(name) for name in ("PA", "PAA")] == [3, 24]
    assert not study.learner_plan("PAA").parameters
    with pytest.raises(ParameterError, match="preprocess must be one of raw, z-score"):
        read(tmp_path, LEAST + 'preprocess = "log"\n')
    with pytest.raises(ParameterError, match="choice_repeats must be a whole number, 1 or above"):
        read(tmp_path, LEAST + "choice_repeats = 0\n")


def test_data_learners_and_ways_of_labels_may_limit_where_they_run(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'title = "t"\nlabel_rates = [0.1, 0.2]\n'
        "labels = [{ delay = 0 }, { delay = 5, label_rates = [0.2] }]\n"
        'baseline = "PA"\nalso = ["roc_auc"]\n'
        '[streams.a]\nkind = "Varying"\n'
        '[learners.PAA]\n[learners.PA]\nneeds = "math"\nlabel_rates = [1.0]\n'
        '[data]\nvote = { streams = ["whole"] }\n'
        'made = { source = "m:f", streams = ["a"], options = { events = 9 }, limit = 7,'
        ' unscored = 0.5, positive = "x", C = 3 }\n'
    )
    study = read_study(file)
    assert [cell.key for cell in study.cells() if cell.data == "vote"] == [
        "vote|whole|PAA|0.1|at once",
        "vote|whole|PAA|0.2|at once",
        "vote|whole|PAA|0.2|5 events late",
        "vote|whole|PA|1|at once",
    ]
    assert {cell.stream for cell in study.cells() if cell.data == "made"} == {"a"}
    made = study.data_plan("made")
    assert (made.limit, made.unscored, made.positive) == (7, 0.5, "x")
    assert made.options == {"events": 9}
    assert made.parameters == {"C": 3}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('baseline = "x"', "baseline must be one of PA, got 'x'"),
        ("also = [1]", r"also must be a list of texts, got \[1\]"),
        ("after = -1", "after must be a whole number, 0 or above, got -1"),
        ('data.vote.streams = ["b"]', "vote: there is no stream 'b'"),
        ("data.vote.limit = 0.5", "limit must be a whole number, 0 or above, got 0.5"),
        ("data.vote.positive = [1]", r"data.vote: positive must be a label, got \[1\]"),
        ("learners.PA.label_rates = [2]", r"label_rates must be in \(0, 1\], got 2"),
    ],
)
def test_mistakes_in_what_limits_a_study_are_named(tmp_path: Path, line: str, message: str) -> None:
    data = "" if line.startswith("data") else "data.vote = {}\n"
    learners = "" if line.startswith("learners") else "learners.PA = {}\n"
    with pytest.raises(ParameterError, match=message):
        read(tmp_path, f'title = "t"\n{data}{learners}{line}\n')
