"""`make fuzz`: every target for FUZZ_SECONDS (60), one after the other; FUZZ_TARGETS names some.

Prints executions, coverage (edges reached) and findings; exits with 1 if there are any. A finding
is an input in `target/fuzz/findings`. Once it is understood and mended it moves to
`tests/fuzz/TARGET`, under a name that says what it shows, and is replayed by `make test`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUT = ROOT / "target" / "fuzz"
TRIPLE = "x86_64-unknown-linux-gnu"
BUILT = OUT / TRIPLE / "fuzz"
ENGINE = OUT / "libfuzzer.so"

TARGETS = {
    **dict.fromkeys(["svmlight", "vw", "json", "csv", "packed"], 2_000),
    **{"disk": 400, "state": 1_500, "records": 400, "register": 600, "lessons": 300},
    **{"events": 300, "frames": 120},
}
"""Names, and of how many bytes an input may be at most."""

COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
]
"""What cargo-fuzz would pass; these work on the stable compiler too."""


def build() -> None:
    """The targets and the extension, with the fuzzer's hooks; the fuzzer as a library."""
    environment = os.environ | {"RUSTFLAGS": " ".join(COVERAGE), "PYO3_PYTHON": sys.executable}
    environment.pop("CARGO_TARGET_DIR", None)
    cargo = ["cargo", "build", "--quiet", "--profile", "fuzz", "--target", TRIPLE]
    cargo += ["--target-dir", str(OUT)]
    fuzz = ["--package", "headwater-fuzz", "--bin", "fuzz", "--features", "libfuzzer"]
    for part in (fuzz, ["--package", "headwater-python"]):
        subprocess.run([*cargo, *part], cwd=ROOT, env=environment, check=True)
    folder = max(BUILT.glob("build/libfuzzer-sys-*/out"), key=os.path.getmtime)
    parts = sorted(folder.rglob("*Fuzzer*.o"))
    parts = [part for part in parts if not part.stem.endswith(("FuzzerMain", "FuzzerInterceptors"))]
    subprocess.run(["g++", "-shared", "-o", str(ENGINE), *map(str, parts)], check=True)


def fuzz(target: str, seconds: int) -> tuple[int, int, list[Path]]:
    """Executions, edges reached, and the inputs that broke a promise."""
    corpus, findings = OUT / "corpus" / target, OUT / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    if (ROOT / "tests" / f"fuzzed_{target}.py").is_file():
        script = str(Path(__file__).with_name("driver.py"))
        extension = str(BUILT / "libheadwater_python.so")
        command = [sys.executable, script, target, str(ENGINE), extension]
    else:
        command = [str(BUILT / "fuzz")]
    kept = ROOT / "tests" / "fuzz" / target
    command += [f"-max_total_time={seconds}", f"-max_len={TARGETS[target]}", "-timeout=60"]
    command += [f"-artifact_prefix={findings}/{target}-", "-print_final_stats=1", str(corpus)]
    command += [str(kept)] if kept.is_dir() else []
    environment = os.environ | {"FUZZ_TARGET": target, "FUZZ_SEEDS": str(corpus)}
    log = OUT / f"{target}.log"
    with log.open("wb") as out:
        code = subprocess.run(command, stdout=out, stderr=out, env=environment).returncode
    text = log.read_text(errors="replace")
    executions = re.findall(r"number_of_executed_units: (\d+)", text) or ["0"]
    edges = re.findall(r"cov: (\d+)", text) or ["0"]
    found = sorted(set(findings.iterdir()) - before)
    if code and not found:
        found = [log]  # it stopped for another reason
    return int(executions[-1]), int(edges[-1]), found


def main() -> None:
    seconds = int(os.environ.get("FUZZ_SECONDS", "60"))
    targets = os.environ.get("FUZZ_TARGETS", " ".join(TARGETS)).split()
    print("Building with the fuzzer's hooks (some minutes the first time) ...", flush=True)
    build()
    print(f"{'target':10} {'executions':>11} {'edges':>7} {'findings':>9}", flush=True)
    findings = []
    for target in targets:
        executions, edges, found = fuzz(target, seconds)
        print(f"{target:10} {executions:11,} {edges:7,} {len(found):9}", flush=True)
        findings += found
    for path in findings:
        print(f"found: {path.relative_to(ROOT)} (what it breaks: target/fuzz/TARGET.log)")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
