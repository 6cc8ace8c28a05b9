"""A worker on MQTT, with Mosquitto; skipped where that is not installed."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import headwater as hw
from connectors import brokers
from effort import FULL
from headwater.errors import ConnectorError

mqtt = pytest.importorskip("headwater.connectors.mqtt")
import paho.mqtt.client as paho  # noqa: E402
from paho.mqtt.enums import CallbackAPIVersion  # noqa: E402

needs_mosquitto = pytest.mark.skipif(
    brokers.mosquitto_program() is None, reason="Mosquitto is not installed"
)
EVENTS = 2_000 if FULL else 300
HEADWATER = (sys.executable, "-c", "from headwater.cli import main; main()")
KILLS = 10 if FULL else 2


def work(host: str, url: str, log: Path) -> "subprocess.Popen[bytes]":
    command = [*HEADWATER, "work", "--mqtt", host, "--db", url]
    command += ["--events", "plant/+/events", "--answers", "plant/answers"]
    command += ["--decisions", "out/decisions", "--dead", "out/dead", "--learner", "PAA"]
    with log.open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out)


@needs_mosquitto
def test_every_event_is_decided_once_though_the_worker_is_killed(tmp_path: Path) -> None:
    with brokers.mosquitto() as host:
        url, log = str(tmp_path / "plant.db"), tmp_path / "log"
        heard: list[str] = []
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id="test")
        client.on_message = lambda _, __, one: heard.append(json.loads(one.payload)["id"])
        client.max_queued_messages_set(0)
        name, _, port = host.partition(":")
        client.connect(name, int(port))
        client.subscribe("out/decisions", 1)
        client.loop_start()
        worker = work(host, url, log)
        wait_until(lambda: "Listening." in log.read_text(), log)
        draw = random.Random(5)
        try:
            for number in range(EVENTS):
                event = {"id": f"e{number}", "s": draw.gauss(0, 1)}
                client.publish(f"plant/line-{number % 3}/events", json.dumps(event), 1)
                if number % (EVENTS // KILLS) == EVENTS // KILLS - 1:
                    time.sleep(draw.uniform(0.3, 1.5))
                    worker.send_signal(signal.SIGKILL)
                    worker.wait()
                    worker = work(host, url, log)
            wait_until(lambda: len(set(heard)) == EVENTS, log)
        finally:
            worker.terminate()
            worker.wait(60)
            client.disconnect()
            client.loop_stop()
        print(f"{EVENTS} events: {len(heard)} decisions heard, {len(set(heard))} different ids")
        with hw.live.open(url, stream="headwater") as stream:
            status = stream.status()
            assert (status.events, stream.learner.seen) == (EVENTS, EVENTS)
        assert set(Counter(heard)) == {f"e{number}" for number in range(EVENTS)}


@needs_mosquitto
def test_answers_are_learned_and_events_without_an_id_are_dead_letters(tmp_path: Path) -> None:
    with brokers.mosquitto() as host:
        url = str(tmp_path / "plant.db")
        broker = mqtt.Mqtt(
            host, events="events", answers="answers", questions="questions", dead="dead"
        )
        worker = mqtt.worker(broker, url, hw.PAA(), say=lambda _: None)
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id="test")
        name, _, port = host.partition(":")
        client.connect(name, int(port))
        client.loop_start()
        end = time.monotonic() + 30
        is_begun = False

        def stop() -> bool:
            nonlocal is_begun
            if not is_begun:
                is_begun = True
                for topic, body in (
                    ("events", {"id": "a", "s": 1.0}),
                    ("events", {"s": 1.0}),
                    ("answers", {"id": "a", "label": True}),
                ):
                    client.publish(topic, json.dumps(body), 1)
            part = worker._parts["headwater"]
            return part.counts.answered + part.counts.dead == 2 or time.monotonic() > end

        worker.run(stop)
        client.disconnect()
        client.loop_stop()
        counts = worker.counts
        assert (counts.decided, counts.asked, counts.answered, counts.dead) == (1, 1, 1, 1)


def test_a_broker_that_is_not_there_is_said(tmp_path: Path) -> None:
    host = f"127.0.0.1:{brokers.free_port()}"
    worker = mqtt.worker(
        mqtt.Mqtt(host, events="events"), str(tmp_path / "plant.db"), hw.PAA(), say=lambda _: None
    )
    with pytest.raises(ConnectorError, match=f"no broker answers at {host} .Connection refused"):
        worker.run(lambda: True)


def wait_until(is_done: object, log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_done():  # type: ignore[operator]
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.1)
