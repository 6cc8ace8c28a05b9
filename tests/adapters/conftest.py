"""The checks of other libraries, counted at the end of a run.

A test that runs one records whose it is, and of what, as its property "suite".
"""

from collections import Counter, defaultdict

import pytest

OUTCOMES: defaultdict[str, Counter[str]] = defaultdict(Counter)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    suites = [str(value) for name, value in report.user_properties if name == "suite"]
    if suites and (report.when == "call" or report.skipped):
        OUTCOMES[suites[0]][report.outcome] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not OUTCOMES:
        return
    terminalreporter.section("checks of other libraries")
    terminalreporter.write_line(f"{'':48}   run passed failed skipped")
    for suite, counts in sorted(OUTCOMES.items()):
        numbers = (counts.total(), counts["passed"], counts["failed"], counts["skipped"])
        terminalreporter.write_line(
            f"{suite:48} {numbers[0]:5} {numbers[1]:6} {numbers[2]:6} {numbers[3]:7}"
        )
