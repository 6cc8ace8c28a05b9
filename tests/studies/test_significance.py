"""Ranks and tests over many data sets, by hand and beside SciPy."""

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from headwater.cli import main
from headwater.errors import ParameterError
from headwater.studies.latex import as_latex, escaped
from headwater.studies.rank_diagram import cliques, rank_diagram
from headwater.studies.ranking import is_lower_better
from headwater.studies.significance import (
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    significance,
    wilcoxon,
)
from headwater.types import TextTable

SMALL = np.array([[0.9, 0.8, 0.7], [0.6, 0.8, 0.5], [0.9, 0.7, 0.7], [0.5, 0.4, 0.3]])


def test_ranks_by_hand() -> None:
    # Best first: 1 2 3; 2 1 3; 1 2.5 2.5; 1 2 3.
    assert mean_ranks(-SMALL) == [1.25, 1.875, 2.875]


def test_friedman_by_hand_without_equal_scores() -> None:
    # Three data sets in one order, one in another: R = 1.25, 1.75, 3; n = 4, k = 3.
    table = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]])
    chi = 12 * 4 / (3 * 4) * (1.25**2 + 1.75**2 + 3**2 - 3 * 4**2 / 4)
    statistic, p = friedman(table)
    assert statistic == pytest.approx(chi) == pytest.approx(6.5)
    assert p == pytest.approx(math.exp(-6.5 / 2))  # χ² with two degrees of freedom


def test_friedman_is_scipys_with_equal_scores() -> None:
    expected = stats.friedmanchisquare(*SMALL.T)
    assert friedman(-SMALL) == pytest.approx((expected.statistic, expected.pvalue))
    assert friedman(np.ones((3, 3))) == (0.0, 1.0)
    assert all(map(math.isnan, friedman(SMALL[:, :2])))


@pytest.mark.parametrize(
    ("learners", "quantile"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)]
)
def test_the_critical_difference_has_the_printed_quantiles(learners: int, quantile: float) -> None:
    """Demšar (2006), table 5, α = 0.05."""
    factor = math.sqrt(learners * (learners + 1) / (6 * 14))
    assert critical_difference(learners, 14) == pytest.approx(quantile * factor, rel=1e-3)


def test_wilcoxon_by_hand_and_beside_scipy() -> None:
    # Five differences of one sign: 2·(1/2)⁵.
    assert wilcoxon(np.arange(5.0), np.arange(5.0) - [1, 2, 3, 4, 5]) == pytest.approx(2 / 32)
    assert wilcoxon(np.ones(4), np.ones(4)) == 1.0
    one, other = np.random.default_rng(1).normal(size=(2, 20))
    assert wilcoxon(one, other) == pytest.approx(stats.wilcoxon(one, other).pvalue)


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    kept = holm([0.02, math.nan])
    assert kept[0] == 0.02
    assert math.isnan(kept[1])


def test_a_comparison_ranks_by_what_is_better() -> None:
    found = significance(["a", "b", "c"], SMALL)
    assert found.mean_ranks == (1.25, 1.875, 2.875)
    assert [(one.one, one.other) for one in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.pairs[1].rank_difference == pytest.approx(-1.625)
    assert not found.pairs[1].nemenyi  # 2.343·√(3·4/(6·4)) = 1.66
    errors = significance(["a", "b", "c"], 1 - SMALL, lower_is_better=True)
    assert errors.mean_ranks == found.mean_ranks


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least two data sets and two learners"):
        significance(["a", "b"], [[0.5, 0.6]])
    with pytest.raises(ParameterError, match="finite"):
        significance(["a", "b"], [[0.5, 0.6], [0.5, math.nan]])


def test_bars_join_learners_that_do_not_differ() -> None:
    assert cliques([1.0, 1.5, 2.2, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert cliques([1.0, 2.0, 3.0], 0.5) == []
    assert cliques([1.0, 1.1, 1.2], 5.0) == [(0, 2)]


def test_the_diagram_names_every_learner() -> None:
    pytest.importorskip("matplotlib")
    drawn = rank_diagram(significance(["a", "b", "c"], SMALL), "T")
    texts = " ".join(text.get_text() for text in drawn.axes[0].texts)
    for name in ("a  1.25", "b  1.88", "2.88  c", "critical difference 1.66"):
        assert name in texts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("50 % & more_of #1", r"50 \% \& more\_of \#1"),
        ("a\\b{c}", r"a\textbackslash{}b\{c\}"),
        ("-0.04", "$-0.04$"),
        ("FLLS-II", "FLLS-II"),
    ],
)
def test_latex_prints_what_is_written(text: str, said: str) -> None:
    assert escaped(text) == said


def test_a_long_table_may_go_over_pages() -> None:
    rows = tuple((f"d{place}", "1") for place in range(50))
    text = as_latex(TextTable(("data set", "n"), rows), "T", "t", frozenset())
    assert text.startswith("\\begin{longtable}{rr}\n")
    assert text.count(r" \\" + "\n") == 51


def test_which_scores_are_better_when_they_are_small() -> None:
    assert is_lower_better("errors")
    assert is_lower_better("mean_loss")
    assert not is_lower_better("auc")


def test_a_study_writes_ranks_latex_and_pdf(world: Path) -> None:
    pytest.importorskip("matplotlib")
    out = world / "out"
    arguments = ["study", str(world / "small.toml"), "--repeats", "2", "--jobs", "1"]
    result = CliRunner().invoke(
        main, [*arguments, "--out", str(out), "--latex", "--pdf", "--ranks"]
    )
    assert result.exit_code == 0, result.output
    written = {path.name for path in out.iterdir()}
    assert {"ranks.csv", "rank-pairs.csv", "ranks-10.svg", "ranks-20.pdf", "rates.pdf"} <= written
    assert {"table.tex", "pairs.tex", "ranks.tex"} <= written
    assert (out / "rates.pdf").read_bytes().startswith(b"%PDF")
    head = (out / "pairs.csv").read_text().splitlines()[0]
    assert head.endswith(",better,worse,p,Holm p")
    ranks = (out / "ranks.csv").read_text().splitlines()
    assert ranks[0] == "algorithm,asked %,data sets,mean rank,Friedman χ²,p,critical difference"
    assert len(ranks) == 1 + 2 * 2  # two learners at two rates
    first = (out / "rates.pdf").read_bytes()
    again = CliRunner().invoke(main, [*arguments, "--out", str(out), "--pdf"])
    assert again.exit_code == 0, again.output
    assert (out / "rates.pdf").read_bytes() == first
