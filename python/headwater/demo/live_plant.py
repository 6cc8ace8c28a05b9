"""`headwater demo --live`: a simulated plant, the service around it, and simulated experts.

The plant runs at sixty times real time: a day takes 24 minutes. Its first days are sent at once, so
that there is something to see; then its clock starts at the time of day and runs ahead of it. What
experts say is wrong now and then; a visitor can answer questions too, and overrule them.
"""

import math
import random
import threading
import time
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from headwater import live
from headwater.errors import AnswerError, HeadwaterError
from headwater.inputs.config import Config
from headwater.learners.spring import Spring
from headwater.live import Allowance, Loop
from headwater.service.service import Service
from headwater.streams import Plant

STREAM = "plant"
DAYS = 365
FIRST_DAYS = 14
LEFT = 12
"""Open questions that the experts leave to the visitor."""
PAUSE = 6.0
"""Seconds that an expert takes for a card, on average."""
DAY = 86_400
UNITS = {
    "temperature": "°C",
    "pressure": "bar",
    "flow": "m³/h",
    "vibration": "mm/s",
    "current": "A",
    "humidity": "%",
    "acidity": "pH",
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
    Expert("Ada (simulated)", 6, 14, 0.02),
    Expert("Bob (simulated)", 13, 22, 0.08),
)


def settings_of(plant: Plant) -> Config:
    """How the plant's values and labels are shown."""
    fields = {}
    for sensor in plant.sensors:
        unit = UNITS.get(sensor.name.rpartition("-")[0])
        if unit is not None:
            fields[sensor.name] = {"unit": unit}
    labels = {"true": "incident", "false": "no incident"}
    return Config(sections={"fields": fields, "labels": labels})


def make_stream(url: str, seed: int) -> None:
    """Make the plant's stream in a database: 60 questions per day of the plant."""
    learner = Spring(label_rate=0.1, seed=seed, track=True)
    allowance = Allowance(per_day=60, tz="UTC")
    live.open(
        url,
        stream=STREAM,
        learner=learner,
        allowance=allowance,
        apply_after=5.0,
        clock="events",
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
    """

    def __init__(
        self,
        plant: Plant,
        service: Service,
        *,
        speed: float,
        seed: int,
        first_days: int = FIRST_DAYS,
    ) -> None:
        self.plant = plant
        self.service = service
        self.speed = speed
        self.first_days = first_days
        self.stop = threading.Event()
        self._coin = random.Random(seed)
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
        times = self.plant.times
        first = int((times < times[0] + self.first_days * DAY).sum())
        start = time.time()
        events = enumerate(islice(self.plant, len(times)))
        for i, (event, incident) in events:
            ahead = float(times[i] - times[first])
            if i >= first and not self._work_until(start + ahead / self.speed, float(times[i])):
                return
            if self.stop.is_set():
                return
            receipt = self.loop.receive(event, id=self._name(i), time=start + ahead)
            if receipt.question is not None:
                self._truth[receipt.question] = bool(incident)
            if i < first:
                self._answer_at_once()

    def _name(self, i: int) -> str:
        """The event's id: the plant's day and time."""
        seconds = int(self.plant.times[i] - self.plant.times[0])
        day, rest = divmod(seconds, DAY)
        return f"day {day + 1}, {rest // 3600:02}:{rest % 3600 // 60:02}"

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

    def _answer_at_once(self) -> None:
        """In the first days an expert answers as soon as there is more than is left to others."""
        if self.loop.desk.waiting() > LEFT:
            self._answer(self._coin.choice(EXPERTS).begins)

    def _answer(self, hour: float) -> None:
        working = [one for one in EXPERTS if one.works(hour)]
        if not working or self.loop.desk.waiting() <= LEFT:
            return
        expert = self._coin.choice(working)
        for card in self.loop.desk.lease(expert.name, 1):
            truth = self._truth.get(card.question)
            if truth is None:
                self.loop.desk.release(card, by=expert.name)
                continue
            said = truth if self._coin.random() >= expert.error else not truth
            with suppress(AnswerError):  # a visitor was quicker
                self.loop.desk.answer(card, said, by=expert.name)
