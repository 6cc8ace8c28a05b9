"""From one command to the first answer, as a stranger goes: in Chromium, and in Firefox."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

pytest.importorskip("selenium", reason="no Selenium: it belongs to the group test")

from selenium.webdriver.common.keys import Keys

from pages.browsers import Page, chromium, firefox
from service.process import PROGRAM, free_port

BROWSERS: dict[str, Callable[[], AbstractContextManager[Page]]] = {
    "chromium": chromium,
    "firefox": firefox,
}


@contextmanager
def demo() -> Iterator[str]:
    """A running `headwater demo --live`; the link that it prints."""
    command = [sys.executable, "-c", PROGRAM, "demo", "--live", "--minutes", "3"]
    with subprocess.Popen(
        [*command, "--port", str(free_port())], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            link = next(line for line in process.stdout if line.startswith("Label:"))
            yield link.split()[1]
        finally:
            process.terminate()


@pytest.mark.parametrize("name", BROWSERS)
def test_from_the_command_to_the_first_answer(name: str) -> None:
    """How many seconds it takes is printed, not asserted."""
    with BROWSERS[name]() as browser:
        began = time.perf_counter()
        with demo() as link:
            browser.open(link)
            first = browser.card()
            browser.press("2")
            browser.is_sent()
            seconds = time.perf_counter() - began
            print(f"{name}: {seconds:.1f} s from `headwater demo --live` to the first answer")
            assert browser.text("#said").startswith("no incident.")
            browser.card()
            browser.press("1")
            browser.is_sent()
            browser.press(Keys.BACKSPACE, Keys.BACKSPACE)
            browser.is_sent()
            assert browser.card() == first
            address = link.partition("/login")[0]
            for page in ("", "features", "people"):
                browser.open(f"{address}/s/plant/{page}")
                assert browser.text("h1")
