"""Take the pictures of the pages in the documentation anew: `make pictures`.

They come from `headwater demo --live` and `headwater label` in Chromium, as anybody sees them. The
dashboard is taken after two and a half minutes, when something has happened to the sensors.
"""

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "tests"))

from pages.browsers import DESK, PHONE, Browser, chromium  # noqa: E402
from service.process import PROGRAM, free_port  # noqa: E402

OPERATE, HOW_TO = PROJECT / "docs/operate", PROJECT / "docs/how-to"
WATCHED = 150.0
"""Seconds of the demo after which the dashboard is taken."""
REVIEWS = (
    "We had the room above the bakery. It was small, it smelled of bread from five in the morning, "
    "and we would not have missed that for a larger one. The landlady lent us her bicycles.",
    "The heating did not work on either of the two nights, and the man at the desk told us to "
    "close the curtains. We left a day early and are still waiting for our money.",
    "A clean, quiet house at the end of the lake. Breakfast is plain. Bring a lamp if you read at "
    "night: the one over the bed is made for people who do not.",
    "Nobody had heard of our booking. After an hour they found us a room with a view of the bins.",
)


@contextmanager
def running(folder: Path, *words: str) -> Iterator[str]:
    """A running command of headwater, and the link that it prints."""
    command = [sys.executable, "-c", PROGRAM, *words, "--port", str(free_port())]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(line for line in process.stdout if line.startswith("Label:")).split()[1]
        finally:
            process.terminate()
            process.stdout.read()


def take(browser: Browser, path: Path) -> None:
    """A picture, once nothing fades any more."""
    time.sleep(0.4)
    browser.driver.save_screenshot(str(path))
    print(path.relative_to(PROJECT))


def whole(browser: Browser, path: Path) -> None:
    """A picture of a page in its whole length."""
    browser.screen((DESK[0], browser.run("return document.documentElement.scrollHeight")))
    take(browser, path)
    browser.screen(DESK)


def demo_pictures(folder: Path) -> None:
    """The labelling page, the dashboard and the features of the demo."""
    with running(folder, "demo", "--live") as link, chromium() as browser:
        began = time.monotonic()
        browser.open(link)
        page = link.partition("/login")[0] + "/s/plant/"
        for key in "2121":
            browser.card()
            browser.press(key)
            browser.is_sent()
        for size, dark, name in (
            (DESK, False, "labelling-light"),
            (DESK, True, "labelling-dark"),
            (PHONE, False, "labelling-phone"),
        ):
            browser.screen(size, dark)
            browser.open(page + "label")
            browser.card()
            browser.press("2")
            browser.is_sent()
            browser.card()
            take(browser, OPERATE / f"{name}.png")
        browser.screen(DESK)
        time.sleep(max(0.0, began + WATCHED - time.monotonic()))
        browser.open(page)
        whole(browser, OPERATE / "dashboard-light.png")
        browser.open(page + "features?sort=state")
        take(browser, OPERATE / "features-light.png")


def file_picture(folder: Path) -> None:
    """The labelling page for a file with texts."""
    with (folder / "reviews.csv").open("w", newline="") as file:
        rows = [
            [f"r{row}", REVIEWS[row % 4], 2 + row % 9, ["web", "phone", "letter"][row % 3]]
            for row in range(200)
        ]
        csv.writer(file).writerows([["id", "review", "nights", "came by"], *rows])
    words = "label reviews.csv --text review --classes complaint,praise --name ines"
    with running(folder, *words.split()) as link, chromium() as browser:
        browser.open(link)
        for _ in range(5):
            browser.card()
            is_good = any(word in browser.text(".card .texts dd") for word in ("bakery", "lake"))
            browser.press("2" if is_good else "1")
            browser.is_sent()
        browser.card()
        take(browser, HOW_TO / "label-a-file.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        file_picture(Path(name))
        demo_pictures(Path(name))
