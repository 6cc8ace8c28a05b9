"""Deliberate faults in the core, one at a time: does a test notice each of them?

Each fault is a text of a source file and what takes its place. It is put into a scratch copy of the
project; then the unit tests of the core run and, if they pass, the digests of saved bytes.

    python tools/mutations.py --list
    python tools/mutations.py                    # all of them: half an hour on a quiet machine
    python tools/mutations.py eviction labels    # those whose name holds one of the words
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
CORE = "rust/core/src"
LONGEST_BUILD, LONGEST_TEST = 1_800, 180
"""Seconds; a fault that makes a test run for ever is noticed by that."""


class Fault(NamedTuple):
    """A fault: where it is, what takes the place of what, and the claim that it breaks."""

    name: str
    file: str
    old: str
    new: str
    claim: str


class FaultError(Exception):
    """A fault that cannot be put in."""


FAULTS: list[Fault] = [
    # Update rules
    Fault(
        "update-pa1-length",
        "rules/update.rs",
        "Self::Pa1 { c } => Step::of((loss / squared_norm).min(or_positive_margin(c))),",
        "Self::Pa1 { c } => Step::of((loss / squared_norm).max(or_positive_margin(c))),",
        "a step of PA-I is never longer than C",
    ),
    Fault(
        "update-pa2-damping",
        "rules/update.rs",
        "squared_norm + 0.5 / or_positive_margin(c)",
        "squared_norm + 1.0 / or_positive_margin(c)",
        "PA-II divides by the squared norm plus 1/(2C)",
    ),
    Fault(
        "update-margin-boundary",
        "rules/update.rs",
        "u8::from(margin <= target)",
        "u8::from(margin < target)",
        "the margin perceptron steps on a margin that is exactly met",
    ),
    Fault(
        "update-gradient-decay",
        "rules/update.rs",
        "shrink: 1.0 - step * decay",
        "shrink: 1.0 + step * decay",
        "a gradient step shrinks the weights",
    ),
    Fault(
        "update-cw-stdev",
        "rules/update.rs",
        "margin < phi * variance.sqrt()",
        "margin < phi * variance",
        "CW with the standard deviation moves where the margin is below phi times its root",
    ),
    # Sparsifiers
    Fault(
        "sparsify-at-least-one",
        "rules/sparsify.rs",
        "((exact + 1e-9).floor() as usize).max(1)",
        "(exact + 1e-9).floor() as usize",
        "at least one weight is kept",
    ),
    Fault(
        "sparsify-share",
        "rules/sparsify.rs",
        "(exact + 1e-9).floor()",
        "exact.floor()",
        "0.29 of 100 weights are 29",
    ),
    Fault(
        "sparsify-l2-radius",
        "rules/sparsify.rs",
        "weights.scale_back(vector, l2_radius);",
        "",
        "weights are scaled back to the L2 radius",
    ),
    # Weights and their heap
    Fault(
        "heap-push-pop",
        "storage/heap.rs",
        "Some(out) if entry > self.entries[0]",
        "Some(out) if entry < self.entries[0]",
        "the smallest leaves when another comes",
    ),
    Fault(
        "heap-stale-key",
        "storage/heap.rs",
        "let entry = HeapEntry::new(current_key(id), id);\n            if entry == *top {",
        "let entry = HeapEntry::new(current_key(id), id);\n            if entry >= *top {",
        "a key that has grown is corrected when it comes to the top",
    ),
    Fault(
        "heap-zero",
        "storage/heap.rs",
        "} else if key == 0.0 {",
        "} else if key < 0.0 {",
        "a weight of 0 leaves the heap",
    ),
    Fault(
        "heap-order",
        "storage/heap.rs",
        "for position in (0..self.entries.len().div_ceil(BRANCHES)).rev() {",
        "for position in 0..self.entries.len().div_ceil(BRANCHES) {",
        "a heap that is built afresh is in order",
    ),
    Fault(
        "weights-scale",
        "storage/weights.rs",
        "        self.vectors[vector].scale * sum\n",
        "        sum\n",
        "the lazy scale is part of every weight",
    ),
    Fault(
        "weights-variance",
        "storage/weights.rs",
        "self.variances = widened(&self.variances, self.width, width, 1.0);",
        "self.variances = widened(&self.variances, self.width, width, 0.0);",
        "the variances of a new class are 1",
    ),
    Fault(
        "compensated-sum",
        "storage/compensated.rs",
        "self.sum + self.compensation",
        "self.sum",
        "rounding errors do not add up in a running sum",
    ),
    Fault(
        "generator-jump",
        "storage/rng.rs",
        "0x39ab_dc45_29b1_661c",
        "0x39ab_dc45_29b1_661d",
        "the second generator is 2^128 steps ahead of the first",
    ),
    # Query rules
    Fault(
        "query-budget-tilt",
        "rules/query.rs",
        "*tilt + Self::GAIN * missed",
        "*tilt - Self::GAIN * missed",
        "a budget asks more after it has asked too little",
    ),
    Fault(
        "query-quantile-limit",
        "rules/query.rs",
        "expected + 2.0 * expected.sqrt() + Self::BURST",
        "expected + 20.0 * expected.sqrt() + Self::BURST",
        "the quantile rule never asks beyond its limit",
    ),
    Fault(
        "query-quota-total",
        "rules/query.rs",
        "(self.rate * total as f64 + 0.5).floor()",
        "(self.rate * total as f64).floor()",
        "a quota asks for exactly its share, rounded",
    ),
    Fault(
        "query-mistakes",
        "rules/query.rs",
        "rule.mistakes += u64::from(mistake);",
        "rule.mistakes += 1;",
        "SEL-ada widens after mistakes only",
    ),
    # Labels and probabilities
    Fault(
        "labels-one",
        "label.rs",
        "(LabelForm::One, LabelForm::Sign | LabelForm::ZeroOne) => written,",
        "(LabelForm::One, LabelForm::Sign | LabelForm::ZeroOne) => form,",
        "after 1 alone the next label says whether its opposite is 0 or -1",
    ),
    Fault(
        "labels-equal",
        "label.rs",
        "_ => number(self).is_some() && number(self) == number(other),",
        "_ => number(self) == number(other),",
        "a text and a number are different labels",
    ),
    Fault(
        "calibration-weight",
        "rules/calibration.rs",
        "(1.0 / query_probability).min(LARGEST_WEIGHT)",
        "(1.0 / query_probability).max(LARGEST_WEIGHT)",
        "an answer counts one over the probability of its question, within a limit",
    ),
    Fault(
        "calibration-side",
        "rules/calibration.rs",
        ".copysign(other - one)",
        ".copysign(one - other)",
        "a probability is above one half exactly when the margin is positive",
    ),
    Fault(
        "calibration-fading",
        "rules/calibration.rs",
        "self.information *= FADING;",
        "",
        "earlier labels count less for the slope",
    ),
    # Open questions and decisions
    Fault(
        "questions-close",
        "learner/learning.rs",
        "self.open.close(decision.number);",
        "",
        "an answer is learned once",
    ),
    Fault(
        "questions-expire",
        "learner/open_questions.rs",
        "if self.fingerprints.len() >= most {",
        "if self.fingerprints.len() > most {",
        "no more questions are open than the limit",
    ),
    Fault(
        "questions-fingerprint",
        "learner/open_questions.rs",
        "few.fold(mix(features.len() as u64, margin), mix)",
        "few.fold(mix(features.len() as u64, margin), |hash, _| hash)",
        "an answer to a question about another event is refused",
    ),
    Fault(
        "decision-weight",
        "learner/decision.rs",
        "if self.asked { weight_of(self.query_probability) } else { 1.0 }",
        "if self.asked { 1.0 } else { weight_of(self.query_probability) }",
        "a label that was asked for stands for those that were not",
    ),
    Fault(
        "step-rollback",
        "learner/stepping.rs",
        "(self.coins, self.query, self.seen, self.asked) = before;",
        "let _ = before;",
        "an event that is refused has changed nothing",
    ),
    # Writing decisions
    Fault(
        "writer-retract",
        "learner/decision_writer.rs",
        "self.out.cut(self.length_before);\n        self.length = self.length_before;",
        "self.length = self.length_before;",
        "the decision of an event that is refused is taken back",
    ),
    Fault(
        "writer-quotes",
        "learner/decision_writer.rs",
        "!text.contains([',', '\"', '\\n', '\\r'])",
        "!text.contains([',', '\\n', '\\r'])",
        "a quote in a cell of CSV is doubled",
    ),
    Fault(
        "writer-number",
        "learner/decision_writer.rs",
        "self.length = self.length_before;\n        self.count -= 1;",
        "self.length = self.length_before;",
        "events without an id are numbered without gaps",
    ),
    # Batches and eviction
    Fault(
        "batch-columns",
        "learner/row_arrays.rs",
        "(*last as usize) < width {",
        "(*last as usize) <= width {",
        "a column that does not exist is refused",
    ),
    Fault(
        "batch-pointers",
        "learner/row_arrays.rs",
        "pair[0] > pair[1])",
        "pair[0] > pair[1] + 1)",
        "row pointers that fall are refused",
    ),
    Fault(
        "batch-labels",
        "learner/batch.rs",
        "known.learn(&parsed, label); // the following labels must have the same form",
        "",
        "the labels of a batch have one form, which is checked before the first row",
    ),
    Fault(
        "eviction-newest",
        "learner/eviction.rs",
        "others.filter(|&id| last(id) < now)",
        "others.filter(|&id| last(id) <= now)",
        "features of the event just learned are not evicted",
    ),
    Fault(
        "eviction-ties",
        "learner/eviction.rs",
        "(last(a), a).cmp(&(last(b), b))",
        "(last(b), b).cmp(&(last(a), a))",
        "the feature that was learned longest ago is evicted first",
    ),
    # Readers
    Fault(
        "svmlight-twice",
        "readers/svmlight.rs",
        "NameRef::Number(number) if number > last => last = number,",
        "NameRef::Number(number) if number >= last => last = number,",
        "a name that stands twice in a line is noticed",
    ),
    Fault(
        "vw-scale",
        "readers/vw.rs",
        "let value = value * scale;",
        "",
        "the scale of a namespace multiplies its values",
    ),
    Fault(
        "csv-cells",
        "readers/csv.rs",
        "if column < header.names.len() {",
        "if column + 1 < header.names.len() {",
        "a line of CSV with too few cells is refused",
    ),
    Fault(
        "csv-quotes",
        "readers/csv.rs",
        "if bytes.peek() == Some(&&b'\"') {",
        "if bytes.peek() == Some(&&b',') {",
        "a doubled quote does not end a cell",
    ),
    Fault(
        "number-exponent",
        "readers/number.rs",
        "decimals -= power;",
        "decimals += power;",
        "an exponent multiplies",
    ),
    Fault(
        "number-overflow",
        "readers/number.rs",
        "let shifted = number.checked_mul(POWERS_OF_TEN[count as usize])?;",
        "let shifted = number.wrapping_mul(POWERS_OF_TEN[count as usize]);",
        "digits that do not fit into 64 bits are read another way",
    ),
]


def chosen(words: Sequence[str]) -> list[Fault]:
    """The faults whose name holds one of the words; all of them without words."""
    found = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    if not found:
        raise FaultError(f"no fault has a name with {' or '.join(words)}; --list shows them.")
    return found


def faulty(fault: Fault, project: Path) -> tuple[Path, str]:
    """The file of a fault in a project, and its text with the fault in it."""
    path = project / CORE / fault.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    program = text.partition("#[cfg(test)]")[0]
    if program.count(fault.old) != 1:
        raise FaultError(
            f"{fault.name}: {CORE}/{fault.file} must hold this text once, and has it"
            f" {program.count(fault.old)} times; change the fault to what the code is now:\n"
            f"{fault.old}"
        )
    return path, text.replace(fault.old, fault.new, 1)


def copy_project(scratch: Path) -> None:
    """The files that git knows, as they are now, in a scratch folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = PROJECT / name, scratch / name
        if source.is_file() and not (target.exists() and same(source, target)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def same(one: Path, other: Path) -> bool:
    """Whether two files hold the same bytes; an unchanged file keeps its time, for cargo."""
    return one.read_bytes() == other.read_bytes()


def run(command: list[str], scratch: Path, target: Path, seconds: int = LONGEST_TEST) -> str:
    """Run a command in the scratch copy: "" if it succeeds, else what it said."""
    started = subprocess.Popen(
        command,
        cwd=scratch,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)  # cargo and the test that it started
        started.communicate()
        return f"it did not end in {seconds} seconds"
    return said if started.returncode else ""


def try_out(fault: Fault, scratch: Path, target: Path) -> str:
    """Who notices a fault: a word, or "" if nobody does."""
    units = ["cargo", "test", "-q", "-p", "headwater-core", "--lib"]
    if build := run([*units, "--no-run"], scratch, target, LONGEST_BUILD):
        raise FaultError(f"{fault.name}: it does not compile.\n{build[-2_000:]}")
    if run(units, scratch, target):
        return "unit tests"
    digests = ["cargo", "test", "-q", "-p", "headwater-fuzz", "--test", "digest"]
    return "digests" if run(digests, scratch, target, LONGEST_BUILD) else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults out; how many nobody noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("words", nargs="*", help="try faults whose name holds one of these")
    parser.add_argument("--list", action="store_true", help="show the faults and stop")
    parser.add_argument("--scratch", type=Path, default=PROJECT / "target" / "mutations" / "copy")
    parser.add_argument("--target", type=Path, default=PROJECT / "target" / "mutations" / "target")
    given = parser.parse_args(arguments)
    try:
        faults = chosen(given.words)
        for fault in faults:
            faulty(fault, PROJECT)
    except FaultError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    if given.list:
        for fault in faults:
            print(f"{fault.name:24} {fault.file:28} {fault.claim}")
        print(f"{len(faults)} faults")
        return 0
    copy_project(given.scratch)
    missed = []
    if noticed := try_out(Fault("no fault", "", "", "", ""), given.scratch, given.target):
        print(f"The {noticed} fail without any fault; mend that first.", file=sys.stderr)
        return 2
    for fault in faults:
        path, text = faulty(fault, given.scratch)
        begin, sound = time.monotonic(), path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        try:
            noticed = try_out(fault, given.scratch, given.target)
        except FaultError as refusal:
            noticed = ""
            print(refusal, file=sys.stderr)
        finally:
            path.write_text(sound, encoding="utf-8")
        seconds = time.monotonic() - begin
        print(f"{fault.name:24} {noticed or 'NOT NOTICED':14} {seconds:5.0f} s", flush=True)
        missed += [] if noticed else [fault.name]
    print(f"{len(faults) - len(missed)} of {len(faults)} faults were noticed.")
    return len(missed)


if __name__ == "__main__":
    sys.exit(main())
