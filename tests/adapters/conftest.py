"""The checks of other libraries, counted at the end of a run.

A test that runs one records whose it is, and of what, as its property "suite".
"""

from collections import Counter, defaultdict

import pytest

OUTCOMES: defaultdict[str, Counter[str]] = defaultdict(Counter)


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
