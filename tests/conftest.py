"""For all tests: the same made-up examples in every run, and no test that fails by the clock.

At the end of a run the checks of other libraries are counted: a test that runs one records whose
it is, and of what, as its property "suite". They are counted here because, where tests run in
several processes, the one that reports reads no conftest but this.
"""

import signal
from collections import Counter, defaultdict

import pytest
from hypothesis import settings

settings.register_profile("headwater", deadline=None, derandomize=True)
settings.load_profile("headwater")

# A shell that runs tests in the background has them ignore Ctrl-C, about which there are tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

OUTCOMES: defaultdict[str, Counter[str]] = defaultdict(Counter)
"""How often the checks of a suite came out how."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    suites = [str(value) for name, value in report.user_properties if name == "suite"]
    if suites and (report.when == "call" or report.skipped):
        failed_as_expected = report.skipped and hasattr(report, "wasxfail")
        OUTCOMES[suites[0]]["expected" if failed_as_expected else report.outcome] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not OUTCOMES:
        return
    terminalreporter.section("checks of other libraries")
    terminalreporter.write_line(f"{'':58} run passed failed skipped expected failures")
    for suite, counts in sorted(OUTCOMES.items()):
        terminalreporter.write_line(
            f"{suite:58} {counts.total():3} {counts['passed']:6} {counts['failed']:6}"
            f" {counts['skipped']:7} {counts['expected']:17}"
        )
