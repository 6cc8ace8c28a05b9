"""From a file to a model: svmlight text, VW text and cache, JSON lines.

The files hold the same events of *text*, values with six digits. Vowpal Wabbit's driver is run by
its Python package (`Workspace("-d FILE ...")` parses and learns the file without Python seeing an
event); its cache is written before it is timed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ours import FLLS, SPARSE, WHO
from peers import vw_options, why_not
from turns import Contestant, Pass, Result
from workloads import Stream, blocks

import headwater as hw

DOOR = {"svm": "svmlight file", "vw": "VW file", "cache": "VW cache", "jsonl": "JSON lines"}
VW_DRIVER, ORJSON = "driver", f"orjson + {SPARSE}, per event"


@dataclass(frozen=True)
class Written:
    """The files of a stream."""

    svm: Path
    vw: Path
    cache: Path
    jsonl: Path


def write(stream: Stream, folder: Path) -> Written:
    """Write a stream in every format; the cache comes when it is needed."""
    files = Written(
        *(folder / f"{stream.title}.{kind}" for kind in ("svm", "vw", "cache", "jsonl"))
    )
    columns = iter(stream.csr.indices.tolist())
    with files.svm.open("w") as svm, files.vw.open("w") as vw, files.jsonl.open("w") as jsonl:
        for events, labels, _ in blocks(stream):
            for event, label in zip(events, labels, strict=True):
                values = [f"{value:.6g}" for value in event.values()]
                sign = "1" if label else "-1"
                pairs = " ".join(f"{next(columns)}:{value}" for value in values)
                print(sign, pairs, file=svm)
                print(sign, "|", pairs, file=vw)
                named = (f'"{name}":{value}' for name, value in zip(event, values, strict=True))
                print(f'{{"y":{sign},{",".join(named)}}}', file=jsonl)
    return files


def by_headwater(path: Path, make: Callable[[], hw.Learner]) -> Callable[[Stream], Pass]:
    """`simulate_file`."""

    def run(stream: Stream) -> Pass:
        learner = make()
        start = time.process_time()
        done = learner.simulate_file(path)
        return Pass(time.process_time() - start, done.learned / done.events)

    return run


def by_vw(arguments: str) -> Callable[[Stream], Pass]:
    """VW's driver, from its start to its end."""

    def run(stream: Stream) -> Pass:
        vowpalwabbit: Any = import_module("vowpalwabbit")
        start = time.process_time()
        vowpalwabbit.Workspace(f"{vw_options(stream)} {arguments}").finish()
        return Pass(time.process_time() - start)

    return run


def by_orjson(path: Path, make: Callable[[], hw.Learner]) -> Callable[[Stream], Pass]:
    """A line decoded, then our own two calls."""

    def run(stream: Stream) -> Pass:
        loads: Any = import_module("orjson").loads
        learner = make()
        start = time.process_time()
        with path.open("rb") as file:
            for line in file:
                event = loads(line)
                label = event.pop("y")
                decision = learner.decide_one(event)
                if decision.asked:
                    learner.answer(decision, label)
        return Pass(time.process_time() - start, learner.learned / stream.events)

    return run


def contestants(files: Written, stream: Stream) -> list[Contestant]:
    """Who reads files."""
    makes = {one.name: one.make for one in FLLS}
    svm, jsonl = DOOR["svm"], DOOR["jsonl"]
    found = [
        Contestant(WHO, name, svm, by_headwater(files.svm, makes[name]))
        for name in ("PA-I", SPARSE)
    ]
    vw = why_not("vowpalwabbit")
    if not vw:
        import_module("vowpalwabbit").Workspace(
            f"{vw_options(stream)} -d {files.vw} --cache_file {files.cache}"
        ).finish()
    runs = {"vw": f"-d {files.vw}", "cache": f"-d {files.vw} --cache_file {files.cache}"}
    for kind, arguments in runs.items():
        run = None if vw else by_vw(arguments)
        found.append(Contestant("Vowpal Wabbit", VW_DRIVER, DOOR[kind], run, why_not=vw))
    found.append(Contestant(WHO, SPARSE, jsonl, by_headwater(files.jsonl, makes[SPARSE])))
    missing = why_not("orjson")
    run = None if missing else by_orjson(files.jsonl, makes[SPARSE])
    found.append(Contestant(WHO, ORJSON, jsonl, run, why_not=missing))
    return found


def beside_river(result: Result, river: float | None) -> Result:
    """With the ratio to what River needs a value by dict, measured before."""
    if river is None or result.ns_per_value is None:
        return result
    return replace(result, times_river=river / result.ns_per_value)
