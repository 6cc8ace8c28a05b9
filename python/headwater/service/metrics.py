"""Counters and times for Prometheus."""

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from headwater.live import Loop

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """What the service counts; a registry of its own."""

    def __init__(self, streams: Mapping[str, Loop]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(_Streams(streams))
        of: Any = {"registry": self.registry}
        self._requests = Counter(
            "headwater_requests", "Requests", ["method", "route", "status"], **of
        )
        self._seconds = Histogram(
            "headwater_request_seconds", "Time of requests", ["route"], buckets=BUCKETS, **of
        )
        self._events = Counter("headwater_events", "Events taken", ["stream"], **of)
        self._questions = Counter("headwater_questions", "Questions opened", ["stream"], **of)
        self._answers = Counter("headwater_answers", "Answers taken", ["stream"], **of)
        self._webhooks = Counter("headwater_webhooks", "Deliveries tried", ["outcome"], **of)
        self._children: dict[tuple[str, ...], Counter] = {}
        self._times: dict[str, Histogram] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is a path of the table, so that there are few."""
        self._child(self._requests, method, route, str(status)).inc()
        timed = self._times.get(route)
        if timed is None:
            timed = self._times[route] = self._seconds.labels(route)
        timed.observe(seconds)

    def events(self, stream: str, count: int, questions: int) -> None:
        """Count events that were taken, and the questions that they opened."""
        self._child(self._events, stream).inc(count)
        if questions:
            self._child(self._questions, stream).inc(questions)

    def answer(self, stream: str) -> None:
        """Count an answer."""
        self._child(self._answers, stream).inc()

    def webhook(self, outcome: str) -> None:
        """Count a delivery: `delivered` or `failed`."""
        self._child(self._webhooks, outcome).inc()

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)

    def _child(self, counter: Counter, *labels: str) -> Counter:
        key = (counter._name, *labels)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = counter.labels(*labels)
        return child


class _Streams(Collector):
    """What the streams say of themselves when somebody looks."""

    def __init__(self, streams: Mapping[str, Loop]) -> None:
        self._streams = streams

    def collect(self) -> Iterable[Metric]:
        seen = GaugeMetricFamily("headwater_model_seen", "Events seen", labels=["stream"])
        asked = GaugeMetricFamily("headwater_model_asked", "Labels asked for", labels=["stream"])
        learned = GaugeMetricFamily("headwater_model_learned", "Labels learned", labels=["stream"])
        behind = GaugeMetricFamily(
            "headwater_facts_since_snapshot", "Facts that a start would replay", labels=["stream"]
        )
        for name, loop in list(self._streams.items()):
            learner = loop.learner
            seen.add_metric([name], learner.seen)
            asked.add_metric([name], learner.asked)
            learned.add_metric([name], learner.learned)
            behind.add_metric([name], loop.behind)
        return [seen, asked, learned, behind]
