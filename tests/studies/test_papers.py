"""The papers' numbers, as data of the project."""

import pytest

import headwater as hw
from headwater.errors import ParameterError
from headwater.studies.papers import read_datasets, read_table, tables


def test_there_is_a_table_for_each_that_the_papers_compare_algorithms_in() -> None:
    assert tables() == (
        *(("FESL", 2),),
        *(("FLLS", table) for table in (3, 4, 5, 6)),
        *(("OLSF", table) for table in (3, 4, 5, 6)),
        *(("OLVF", table) for table in (2, 3, 4, 5)),
        *(("PAA", table) for table in (2, 3, 6, 7, 8)),
    )


@pytest.mark.parametrize(("paper", "table"), tables())
def test_every_cell_is_one_number_of_its_table(paper: str, table: int) -> None:
    cells = read_table(paper, table)
    assert {(cell.paper, cell.table) for cell in cells} == {(paper, table)}
    keys = [(cell.dataset, cell.algorithm, cell.setting, cell.metric) for cell in cells]
    assert len(keys) == len(set(keys)) > 0
    for cell in cells:
        assert cell.mean >= 0
        assert cell.std is None or cell.std >= 0


@pytest.mark.parametrize(
    ("paper", "table", "dataset", "algorithm", "setting", "metric", "expected"),
    [  # typed from the papers
        ("FLLS", 3, "wdbc", "FLLS-II", "query=10%", "AUC", 0.949),
        ("OLSF", 3, "a8a", "OLSF", "B,C by CV", "errors", 12673.5),
        ("PAA", 8, "URL2", "CSPAA(a)", "chosen by sum", "sensitivity_pct", 89.054),
        ("PAA", 8, "URL2", "CSPAA(a)", "chosen by cost", "sensitivity_pct", 89.498),
        ("FESL", 2, "australian", "NOGD", "c=1;B=5 or 10", "accuracy", 0.767),
        ("OLVF", 2, "german", "OLVF", "varying;Rem=0.25", "errors", 333.4),
    ],
)
def test_a_number_is_the_printed_one(
    paper: str,
    table: int,
    dataset: str,
    algorithm: str,
    setting: str,
    metric: str,
    expected: float,
) -> None:
    key = (dataset, algorithm, setting, metric)
    found = [cell.mean for cell in read_table(paper.lower(), table) if cell[2:6] == key]
    assert found == [expected]


@pytest.mark.parametrize(("paper", "table"), [("FLLS", 2), ("flls", "3"), ("KDD", 3), (None, 3)])
def test_a_table_that_is_not_there_is_refused_with_those_that_are(paper: str, table: int) -> None:
    with pytest.raises(ParameterError, match=r"there is no table .* only FESL 2, FLLS 3, "):
        read_table(paper, table)


def test_every_data_set_of_a_table_is_ours_or_has_its_reason() -> None:
    known = {(data.paper, data.printed): data for data in read_datasets()}
    assert len(known) == len(read_datasets())
    for paper, table in tables():
        for cell in read_table(paper, table):
            data = known[paper, cell.dataset]
            assert data.name is not None or data.remark, data


def test_ours_are_in_the_registry_and_as_large_as_printed_or_the_remark_says_why_not() -> None:
    compared = 0
    for data in read_datasets():
        if data.name is None:
            continue
        entry = hw.datasets.entry(data.name)
        same = (data.n in (None, entry.n)) and (data.d in (None, entry.d))
        assert same or data.remark, data
        compared += same
    assert compared > 40
