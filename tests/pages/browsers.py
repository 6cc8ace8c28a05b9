"""Real browsers for tests: Debian's Chromium and Firefox, driven by Selenium, without a window."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.firefox.service import Service as FirefoxService
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 30.0
"""Seconds; a machine with nothing else to do needs a hundredth of it."""
DESK = (1280, 800)
PHONE = (390, 844)


def program(*names: str) -> str:
    """The first of these programs that is installed; else the test is skipped."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            return found
    pytest.skip(f"no browser: none of {', '.join(names)} is on the PATH")


class Browser:
    """A browser, and what people do with it."""

    def __init__(self, driver: WebDriver) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: Any) -> Any:
        """Wait until an expression is true; its value."""
        waiting = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.01)
        return waiting.until(lambda _: self.run(f"return {script}", *arguments), script)

    def text(self, selector: str) -> str:
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def click(self, selector: str) -> None:
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def type(self, selector: str, text: str) -> None:
        self.driver.find_element(By.CSS_SELECTOR, selector).send_keys(text)

    def log_in(self, url: str, token: str) -> None:
        """Log in by a token, and wait for the page that comes then."""
        self.open(f"{url}/login")
        self.type("#token", token)
        self.click("#login button")
        self.wait("!location.pathname.startsWith('/login')")

    def card(self) -> int:
        """The question on the screen, once there is one."""
        return int(self.wait("document.querySelector('.card')?.dataset.question"))

    def is_sent(self) -> None:
        """Wait until nothing is on its way."""
        self.wait("document.getElementById('main').dataset.unsent === '0'")

    # Chromium only

    def screen(self, size: tuple[int, int], dark: bool = False) -> None:
        """Make the window a desk's or a phone's, light or dark."""
        assert isinstance(self.driver, webdriver.Chrome)
        width, height = size
        phone = width < 500
        tell = self.driver.execute_cdp_cmd
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        tell("Emulation.setDeviceMetricsOverride", screen)
        tell("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tell("Emulation.setEmulatedMedia", {"features": [scheme]})

    def connection(self, there: bool) -> None:
        """Take the network away, or give it back."""
        assert isinstance(self.driver, webdriver.Chrome)
        tell = self.driver.execute_cdp_cmd
        tell("Network.enable", {})
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        tell("Network.emulateNetworkConditions", {"offline": not there, **speed})

    def complaints(self) -> list[str]:
        """What the browser complained about since this was last asked, refused scripts included."""
        assert isinstance(self.driver, webdriver.Chrome)
        return [one["message"] for one in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]


@contextmanager
def chromium(options: Sequence[str] = ()) -> Iterator[Browser]:
    """A new Chromium with its own cookies and storage."""
    told = webdriver.ChromeOptions()
    told.binary_location = program("chromium", "chromium-browser", "google-chrome")
    driver_path = program("chromedriver")
    for one in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", *options):
        told.add_argument(one)
    if os.geteuid() == 0:
        told.add_argument("--no-sandbox")  # which root cannot have
    told.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(told, ChromeService(driver_path))
    try:
        browser = Browser(driver)
        browser.screen(DESK)
        yield browser
    finally:
        driver.quit()


@contextmanager
def firefox() -> Iterator[Browser]:
    """A new Firefox; its driver is `cargo install geckodriver`."""
    told = webdriver.FirefoxOptions()
    told.binary_location = program("firefox-esr", "firefox")
    told.add_argument("-headless")
    driver = webdriver.Firefox(told, FirefoxService(program("geckodriver")))
    try:
        driver.set_window_size(1280, 900)
        yield Browser(driver)
    finally:
        driver.quit()


def axe() -> str:
    """The source of axe-core, which npm installs beside the environment."""
    project = Path(__file__).parents[2]
    for folder in (Path(os.environ.get("HEADWATER_NODE", "")), project / ".venv"):
        path = folder / "node_modules/axe-core/axe.min.js"
        if path.exists():
            return path.read_text(encoding="utf-8")
    pytest.skip("no axe-core: npm install --prefix .venv axe-core")
