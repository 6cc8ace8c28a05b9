"""The demo's page: complete, self-contained, and safe to open anywhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from headwater.demo.five_learners import (
    CHOSEN,
    DEAF,
    NAMES,
    RANDOM,
    Demo,
    ExplainedEvent,
    LearnerResult,
    TopSensor,
)
from headwater.demo.page import page, trailing_balanced, trailing_mean
from headwater.demo.tables import learner_table, sensor_table, verdict
from headwater.streams import Sensor
from headwater.types import Explanation

EVENTS = 1_000


def made_up_demo() -> Demo:
    generator = np.random.default_rng(0)
    incidents = generator.random(EVENTS) < 0.3
    outcomes = tuple(
        LearnerResult(
            name=name,
            mistakes=generator.random(EVENTS) < 0.2,
            asked=generator.random(EVENTS) < share,
            missed=70 + place,
            false_alarms=130 + place,
            balanced_accuracy=0.9 + place / 1_000,
            roc_auc=0.95,
        )
        for place, (name, share) in enumerate(zip(NAMES, (1, 0.1, 0.02, 0.02, 0.02), strict=True))
    )
    first = TopSensor(Sensor("ozone-01", "ozone", 0, None), 0.5, 90)
    later = TopSensor(Sensor("<dust>", "dust", 440, None), -0.25, 40)
    sensors = (first.sensor, Sensor("rain-01", "rain", 0, 500), later.sensor)
    why = Explanation(True, 1.5, {"<dust>": 2.0, "ozone-01": -0.5}, 0.1, "It would ask.")
    explained = ExplainedEvent(998, True, why)
    return Demo(EVENTS, 3, (0, 440), sensors, incidents, outcomes, (first, later), explained)


@pytest.fixture(scope="module")
def text() -> str:
    pytest.importorskip("matplotlib")
    return page(made_up_demo(), "headwater demo --seed 3 --events 1000")


class Loaded(HTMLParser):
    """Collects whatever a browser would fetch or run, and the tags left open."""

    VOID = frozenset({"meta", "br", "img", "hr", "input", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in {"script", "link", "img", "iframe"}:
            self.fetched.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href"} and not (value or "").startswith("#"):
                self.fetched.append(f"{name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_fetches_nothing_and_runs_nothing(text: str) -> None:
    loaded = Loaded()
    loaded.feed(text)
    assert loaded.fetched == []
    assert "url(http" not in text
    assert "@import" not in text


def test_every_tag_of_the_page_is_closed(text: str) -> None:
    loaded = Loaded()
    loaded.feed(text)
    assert loaded.open == []


def test_the_page_shows_both_tables_the_picture_and_the_command(text: str) -> None:
    for name in NAMES:
        assert f">{name}</td>" in text
    assert "ozone-01" in text
    assert text.count("<svg") == 2  # wide, and for a phone
    for name in (CHOSEN, RANDOM, DEAF):
        assert f"<b>{90 + NAMES.index(name) / 10:.1f} %</b>" in text
    assert "Event 999 was an incident." in text
    assert "headwater demo --seed 3 --events 1000" in text


def test_the_page_fits_a_phone(text: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert not re.search(r"<svg[^>]* width=", text)  # the style gives it the width of the page
    assert '<div class="narrow"><svg' in text


def test_names_are_escaped(text: str) -> None:
    assert "&lt;dust&gt;" in text
    assert "<dust>" not in text


def test_no_id_occurs_twice(text: str) -> None:
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))


def test_the_same_demo_gives_the_same_page(text: str) -> None:
    assert page(made_up_demo(), "headwater demo --seed 3 --events 1000") == text


def test_a_trailing_mean_is_that_of_the_window() -> None:
    values = np.random.default_rng(1).random(50) < 0.5
    means = trailing_mean(values, window=7)
    assert means == pytest.approx([values[max(0, i - 6) : i + 1].mean() for i in range(50)])


def test_a_balanced_error_rate_weighs_both_classes_the_same() -> None:
    draw = np.random.default_rng(2)
    wrong, incident = draw.random(60) < 0.4, draw.random(60) < 0.2
    incident[:9] = False
    expected = []
    for end in range(1, 61):
        w, y = wrong[max(0, end - 20) : end], incident[max(0, end - 20) : end]
        rates = [w[kind].mean() if kind.any() else 0.0 for kind in (y, ~y)]
        expected.append(sum(rates) / 2)
    assert trailing_balanced(wrong, incident, window=20) == pytest.approx(expected)


def test_the_learner_table_has_a_row_a_learner() -> None:
    table = learner_table(made_up_demo())
    assert [row[0] for row in table.rows] == list(NAMES)
    assert all(len(row) == len(table.head) for row in table.rows)
    assert dict(zip(table.head, table.rows[0], strict=True))["labels"] == "1,000"
    assert dict(zip(table.head, table.rows[3], strict=True))["missed"] == "73"


def test_the_sensor_table_says_when_a_sensor_came() -> None:
    assert sensor_table(made_up_demo()).rows == (
        ("ozone-01", "+0.500", "the first", "90"),
        ("<dust>", "-0.250", "440", "40"),
    )


def test_the_verdict_compares_chosen_labels_with_random_ones_and_with_a_deaf_learner() -> None:
    demo = made_up_demo()
    said = verdict(demo)
    chosen = demo.outcome(CHOSEN)
    assert f"With {chosen.labels:,} labels that it chose itself, Spring recognises 90.4 %" in said
    assert "drawn at random, 90.3 %" in said
    assert "installed later it is 90.2 %" in said
    assert f"missed 74 of {demo.incidents.sum():,} incidents and raised 134 false" in said


def test_the_picture_has_the_colours_of_the_page_in_light_and_dark(text: str) -> None:
    assert "#0101" not in text  # the stand-ins
    for colour in re.findall(r"var\(--(\w+)\)", text):
        assert text.count(f"--{colour}: ") >= (1 if colour == "of" else 2), colour
