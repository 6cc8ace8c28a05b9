"""schemathesis: requests drawn from the description of the API, good ones and bad ones.

Every reply must be one that the description tells of, and no request may cause a fault.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case

import headwater as hw
from effort import FULL
from headwater.service.api import DOCUMENT
from service.process import Served

EXAMPLES = 200 if FULL else 6


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("schema")
    with Served(folder / "plant.db", "--learner", "OLSF", log=folder / "log") as one:
        with hw.Client(one.url, one.token) as plant:
            plant.send_many([{"x": float(n)} for n in range(3)], ids=["e0", "e1", "e2"])
        yield one
        assert '"log":"error"' not in (folder / "log").read_text()


# 422: of the right form, and refused for what it says, such as a label that does not fit.
TAKEN = ["2xx", "401", "403", "404", "409", "422"]
config = schemathesis.Config.from_dict(
    {"checks": {"positive_data_acceptance": {"expected-statuses": TAKEN}}}
)
schema = schemathesis.openapi.from_dict(DOCUMENT, config=config)


@schema.exclude(path="/v1/updates").parametrize()  # it never ends
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_reply_is_one_of_the_description(case: Case[Any], served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token}"}
    case.call_and_validate(base_url=served.url, headers=headers)
