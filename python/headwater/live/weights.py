"""The heaviest weights over time: written with each snapshot, thinned out as they grow old.

They are what the model was when the snapshot was made; a correction of the past does not change
them. With several classes the weight of a feature is the largest of its weights.
"""

import json
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from headwater.learners.base import Learner
from headwater.live import database as db
from headwater.live.database import Database
from headwater.types import Name

HEAVIEST = 1_000
"""How many weights are kept of a moment."""
MOMENTS = 128
"""Beyond so many, every other one of the older half is dropped."""

Heaviest = list[tuple[Name, float]]


class WeightsAt(NamedTuple):
    """The heaviest weights at a moment: see `Reader.weights`.

    Examples
    --------
    >>> WeightsAt(20_000, 1.8e9, {"ozone-01": 0.5}).weights["ozone-01"]
    0.5
    """

    fact: int
    """The last fact that the model contained."""
    time: float
    """Seconds since 1970."""
    weights: dict[Name, float]
    """Largest first."""


def heaviest(learner: Learner) -> Heaviest:
    """The largest weights of a learner; none of one written in Python that does not tell them."""
    try:
        return learner._heaviest(HEAVIEST)
    except NotImplementedError:
        return []


def kind_of(stream: int) -> str:
    """The kind of the records of a stream's weights."""
    return f"weights/{stream}"


def add_weights(
    database: Database, connection: Connection, stream: int, fact: int, time: float, found: Heaviest
) -> None:
    """Keep the weights of a moment."""
    value = json.dumps([time, found])
    database.insert(connection, db.records, [(kind_of(stream), f"{fact:019}", value)], replace=True)
    r = db.records.c
    here = r.kind == kind_of(stream)
    keys = connection.scalars(sa.select(r.key).where(here).order_by(r.key)).all()
    if len(keys) > MOMENTS:
        old = keys[1 : len(keys) // 2 : 2]
        connection.execute(sa.delete(db.records).where(here, r.key.in_(old)))


def read_weights(connection: Connection, stream: int) -> list[WeightsAt]:
    """The weights of every moment that is kept, the oldest first."""
    r = db.records.c
    found = sa.select(r.key, r.value).where(r.kind == kind_of(stream)).order_by(r.key)
    moments = []
    for key, value in connection.execute(found):
        time, weights = json.loads(value)
        moments.append(WeightsAt(int(key), time, {name: weight for name, weight in weights}))
    return moments


def drop_weights(connection: Connection, stream: int, since: int = 0) -> None:
    """Drop the weights of a stream from a fact on: names of a forgotten event may be among them."""
    r = db.records.c
    late = (r.kind == kind_of(stream)) & (r.key >= f"{since:019}")
    connection.execute(sa.delete(db.records).where(late))
