"""`headwater demo --live`: a simulated plant, the service around it, and simulated experts.

The plant runs at sixty times real time: a day takes 24 minutes. Its first days are sent at once, so
that there is something to see; then its clock starts at the time of day and runs ahead of it, and
something happens to its sensors all the time. What experts say is wrong now and then; a visitor can
answer questions too, and overrule them.
"""

import math
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from headwater import live
from headwater.demo.busy_plant import BusyPlant
from headwater.errors import AnswerError, HeadwaterError
from headwater.inputs.config import Config
from headwater.learners.spring import Spring
from headwater.live import Allowance, Loop
from headwater.service.service import Service
from headwater.streams import Plant
from headwater.types import Event

STREAM = "plant"
DAYS = 60
FIRST_DAYS = 9 + 8 / 24
"""The register knows the rhythm of a sensor, with its weekends, after seven days. It is morning
then, and the experts are at work."""
INTERVAL = 120
INCIDENTS = 0.12
MOST_NEW = 400
"""Sensors that are installed while it runs and whose unit is known; as many come in two days."""
PER_DAY = 120
LEFT = 24
"""Open questions that the experts leave to the visitor."""
PAUSE = 6.0
"""Seconds that an expert takes for a card, on average."""
TOGETHER = 8
"""Events of the first days that are sent together."""
DAY = 86_400
UNITS = {
    "temperature": "°C",
    "pressure": "bar",
    "flow": "m³/h",
    "vibration": "mm/s",
    "current": "A",
    "humidity": "%",
    "turbidity": "NTU",
    "light": "lx",
    "energy": "kWh",
}


class Expert(NamedTuple):
    """Somebody who answers at some hours, now and then wrongly."""

    name: str
    begins: float
    ends: float
    error: float

    def works(self, hour: float) -> bool:
        return self.begins <= hour < self.ends


EXPERTS = (
    Expert("Ada (simulated)", 6, 14, 0.005),
    Expert("Bob (simulated)", 13, 22, 0.01),
)


def make_plant(seed: int) -> Plant:
    """The plant of a seed."""
    return Plant(DAYS, incident_share=INCIDENTS, interval=INTERVAL, seed=seed)


def settings_of(plant: Plant) -> Config:
    """How the plant's values and labels are shown."""
    names = [sensor.name for sensor in plant.sensors]
    later = range(len(names) + 1, len(names) + MOST_NEW)
    names += [f"{kind}-{number:02d}" for kind in UNITS for number in later]
    units = {name: UNITS.get(name.rpartition("-")[0]) for name in names}
    fields = {name: {"unit": unit} for name, unit in units.items() if unit is not None}
    labels = {"true": "incident", "false": "no incident"}
    return Config(sections={"fields": fields, "labels": labels})


def make_stream(url: str, seed: int) -> None:
    """Make the plant's stream in a database: five questions per hour of the plant."""
    learner = Spring(label_rate=0.1, seed=seed, track=True)
    allowance = Allowance(per_day=PER_DAY, tz="UTC")
    live.open(
        url,
        stream=STREAM,
        learner=learner,
        allowance=allowance,
        apply_after=5.0,
        clock="events",
        synchronous="normal",  # nothing is kept
    ).close()


class LivePlant:
    """Sends the events of a plant as time passes, and lets experts answer.

    Parameters
    ----------
    plant
        What is sent.
    service
        Where it is sent to, with a stream of the name `STREAM`.
    speed
        How much faster than in life time passes.
    seed
        What the experts say and when follows from it.
    first_days
        Days that are sent at once.
    begun
        Called once they are sent.
    """

    def __init__(
        self,
        plant: Plant,
        service: Service,
        *,
        speed: float,
        seed: int,
        first_days: float = FIRST_DAYS,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        self.plant = plant
        self.service = service
        self.speed = speed
        self.begun = begun
        self.stop = threading.Event()
        self._coin = random.Random(seed)
        self._first = int((plant.times < plant.times[0] + first_days * DAY).sum())
        self.events = BusyPlant(plant, self._first, seed)
        self._sent = 0
        self._left = 0
        self._truth: dict[int, bool] = {}
        self._thread = threading.Thread(target=self._run, name="plant")
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Send nothing more."""
        self.stop.set()
        self._thread.join()

    @property
    def started(self) -> bool:
        return self._thread.ident is not None

    @property
    def loop(self) -> Loop:
        return self.service.streams[STREAM]

    def _run(self) -> None:
        try:
            self._send()
        except (HeadwaterError, KeyError) as error:
            if not (self.stop.is_set() or self.service.is_stopping):
                self.failure = error

    def _send(self) -> None:
        times, first = self.plant.times, self._first
        start = time.time()
        events = enumerate(self.events)
        while several := list(islice(events, min(TOGETHER, first - self._sent))):
            if self.stop.is_set():
                return
            self._sent += len(several)
            asked = self._receive(several, start)
            self._answer_all(asked, several[-1][0])
        self.begun()
        begun = time.time()
        for i, (event, incident) in events:
            ahead = float(times[i] - times[first])
            if not self._work_until(begun + ahead / self.speed, float(times[i])):
                return
            self._receive([(i, (event, incident))], start)

    def _receive(self, sent: list[tuple[int, tuple[Event, bool]]], start: float) -> list[int]:
        """Send events, and return the questions about them.

        The plant's clock shows `start` with the first that is not sent at once.
        """
        asked = []
        times, first = self.plant.times, self._first
        ahead = [start + float(times[i] - times[first]) for i, _ in sent]
        receipts = self.loop.receive_many(
            [event for _, (event, _) in sent], ids=[self._name(i) for i, _ in sent], times=ahead
        )
        for receipt, (_, (_, incident)) in zip(receipts, sent, strict=True):
            if isinstance(receipt, Exception):
                raise receipt
            if receipt.question is not None:
                self._truth[receipt.question] = incident
                asked.append(receipt.question)
        return asked

    def _name(self, i: int) -> str:
        return f"reading {i + 1}"

    # Experts

    def _work_until(self, when: float, plant_time: float) -> bool:
        """Let the experts work until the next event; False if all is to end."""
        hour = plant_time % DAY / 3_600
        while (left := when - time.time()) > 0:
            pause = -math.log(1 - self._coin.random()) * PAUSE / len(EXPERTS)
            if self.stop.wait(min(left, pause)):
                return False
            if left > pause:
                self._answer(hour)
        return True

    def _answer_all(self, asked: list[int], event: int) -> None:
        """In the first days experts answer at once; on the last of them they leave some cards."""
        last_day = self.plant.times[event] > self.plant.times[self._first] - DAY
        for question in asked:
            if last_day and self._left < LEFT and self._coin.random() < LEFT / PER_DAY:
                self._left += 1
                continue
            expert = self._coin.choice(EXPERTS)
            self.loop.answer(question, self._said(question, expert), by=expert.name)
        if asked:
            self.loop.apply()  # minutes pass until the next events; here they do not

    def _said(self, question: int, expert: Expert) -> bool:
        """What an expert says: the truth, but for an error now and then."""
        return self._truth[question] != (self._coin.random() < expert.error)

    def _answer(self, hour: float) -> None:
        working = [one for one in EXPERTS if one.works(hour)]
        if working and self.loop.desk.waiting() > LEFT:
            self._answer_as(self._coin.choice(working))

    def _answer_as(self, expert: Expert) -> None:
        """Answer one card, if there is one."""
        for card in self.loop.desk.lease(expert.name, 1):
            with suppress(AnswerError):  # a visitor was quicker
                self.loop.desk.answer(card, self._said(card.question, expert), by=expert.name)
