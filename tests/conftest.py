"""For all tests: the same made-up examples in every run, and no test that fails by the clock.

At the end of a run it says how long the tests of each folder took, why tests were skipped, and how
the checks of other libraries came out: a test that runs one records whose it is, and of what, as
its property "suite". All of that is counted here because, where tests run in several processes,
the one that reports reads no conftest but this.
"""

import signal
from collections import Counter, defaultdict

import pytest
from hypothesis import settings

from effort import reduced

settings.register_profile("headwater", deadline=None, derandomize=True, max_examples=reduced(100))
settings.load_profile("headwater")

# A shell that runs tests in the background has them ignore Ctrl-C, about which there are tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

OUTCOMES: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""How often the checks of a suite came out how."""


SECONDS: defaultdict[str, float] = defaultdict(float)
"""How long the tests of a folder took, set-up included, all processes together."""
TESTS: Counter[str] = Counter()
SKIPPED: Counter[str] = Counter()
"""How many tests were skipped for a reason."""


def folder_of(report: pytest.TestReport) -> str:
    """The folder of a test; a test that lies beside the folders is its own."""
    path = report.nodeid.partition("::")[0].split("/")
    return "/".join(path[:2]) if path[0] == "tests" else path[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[folder_of(report)] += report.duration
    TESTS[folder_of(report)] += report.when == "call"
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        SKIPPED[reason.removeprefix("Skipped: ")] += 1
    suites = [str(value) for name, value in report.user_properties if name == "suite"]
    if suites and (report.when == "call" or report.skipped):
        failed_as_expected = report.skipped and hasattr(report, "wasxfail")
        OUTCOMES[suites[0]]["expected" if failed_as_expected else report.outcome] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if len(SECONDS) > 1:
        terminalreporter.section("time per folder")
        for folder, seconds in sorted(SECONDS.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{seconds:8.1f} s {TESTS[folder]:6} tests  {folder}")
        terminalreporter.write_line(
            f"{sum(SECONDS.values()):8.1f} s {TESTS.total():6} tests  in all"
        )
    if SKIPPED:
        terminalreporter.section("skipped")
        for reason, count in SKIPPED.most_common():
            terminalreporter.write_line(f"{count:6}  {reason}")
    if not OUTCOMES:
        return
    terminalreporter.section("checks of other libraries")
    terminalreporter.write_line(f"{'':58} run passed failed skipped expected failures")
    for suite, counts in sorted(OUTCOMES.items()):
        terminalreporter.write_line(
            f"{suite:58} {counts.total():3} {counts['passed']:6} {counts['failed']:6}"
            f" {counts['skipped']:7} {counts['expected']:17}"
        )
