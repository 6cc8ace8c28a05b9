"""Brokers for tests: Kafka in KRaft mode from Maven's jars, and Mosquitto."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

KAFKA = "org.apache.kafka:kafka_2.13:4.1.0"
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>headwater</groupId><artifactId>jars</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = """<dependency><groupId>{}</groupId><artifactId>{}</artifactId>
<version>{}</version>{}</dependency>
"""
NOTHING_MORE = """<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
</exclusions>"""
JARS = Path(os.environ.get("HEADWATER_JARS", Path(tempfile.gettempdir(), "hw-jars")))
"""Where jars are kept from run to run, a folder for each artifact."""
PATIENCE = 120.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-3000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens: {log.read_text(errors='replace')[-3000:]}")


class NoJarsError(Exception):
    """Why jars cannot be had."""


def jars(*artifacts: str, alone: bool = False) -> Path:
    """The folder with these jars, `group:artifact:version`, and all that they need; Maven fetches.

    `alone` leaves out what they need.
    """
    if shutil.which("java") is None or shutil.which("mvn") is None:
        raise NoJarsError("Java and Maven are not installed")
    split = [artifact.split(":") for artifact in artifacts]
    kept = JARS / "+".join(f"{name}-{version}" for _, name, version in split)
    if kept.exists():
        return kept
    JARS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JARS) as folder:
        wanted = "".join(DEPENDENCY.format(*one, NOTHING_MORE if alone else "") for one in split)
        Path(folder, "pom.xml").write_text(POM.format(wanted))
        fetched = Path(folder, "jars")
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={fetched}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoJarsError(f"Maven cannot fetch {', '.join(artifacts)}: {done.stdout[:300]}")
        with suppress(OSError):  # another process was quicker
            fetched.rename(kept)
    return kept


@contextmanager
def kafka() -> Iterator[str]:
    """The address of a broker; it ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="hw-kafka-"))
    port, controller = free_port(), free_port()
    config = folder / "server.properties"
    config.write_text(
        "\n".join(
            (
                "process.roles=broker,controller",
                "node.id=1",
                f"controller.quorum.voters=1@127.0.0.1:{controller}",
                f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}",
                "controller.listener.names=CONTROLLER",
                "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                f"log.dirs={folder / 'data'}",
                "offsets.topic.replication.factor=1",
                "offsets.topic.num.partitions=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "transaction.state.log.num.partitions=4",
                "group.initial.rebalance.delay.ms=0",
                "group.min.session.timeout.ms=1000",
                "auto.create.topics.enable=false",
                "",
            )
        )
    )
    java = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += ["-cp", f"{jars(KAFKA)}/*"]
    cluster = "MkU3OEVBNTcwNTJENDM2Qk"
    format = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config)]
    formatted = subprocess.run([*java, *format], capture_output=True, text=True, check=False)
    if formatted.returncode != 0:
        format[0] = "org.apache.kafka.tools.StorageTool"
        formatted = subprocess.run([*java, *format], capture_output=True, text=True, check=False)
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=out, stderr=out)
    try:
        wait_for(port, process, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def mosquitto_program() -> str | None:
    sbin = Path("/usr/sbin/mosquitto")
    return shutil.which("mosquitto") or (str(sbin) if sbin.exists() else None)


@contextmanager
def mosquitto() -> Iterator[str]:
    """The address of a broker that keeps sessions of any length; it ends with the block."""
    program = mosquitto_program()
    assert program is not None
    folder = Path(tempfile.mkdtemp(prefix="hw-mqtt-"))
    port = free_port()
    config, log = folder / "mosquitto.conf", folder / "log"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
    with log.open("wb") as out:
        process = subprocess.Popen([program, "-c", str(config)], stdout=out, stderr=out)
    try:
        wait_for(port, process, log)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
