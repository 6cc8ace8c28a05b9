"""The papers' numbers on real data, where there is some."""

import os
from pathlib import Path

import pytest

from headwater.studies.comparison import compare
from headwater.studies.study import carry_out, studies_of, with_data

REAL_DATA = os.environ.get("HEADWATER_DATA")


@pytest.mark.skipif(not REAL_DATA, reason="HEADWATER_DATA names no folder of data sets")
def test_paa_on_svmguide1_gives_the_printed_f_measures(tmp_path: Path) -> None:
    (study,) = studies_of("paa", 2)
    study = with_data(study, ["svmguide1"])
    store = carry_out(study, tmp_path, jobs=1)
    found = compare(study, store)
    assert len(found) == 20
    assert {one.verdict for one in found} == {"agrees"}
    assert max(abs(one.difference) for one in found) < 0.01
