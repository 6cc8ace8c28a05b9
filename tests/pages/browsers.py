"""Real browsers for tests: Debian's Chromium and Firefox, without a window."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import websocket
from selenium import webdriver
from selenium.webdriver.chrome.service import Service as ChromeService
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

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


class Page:
    """A page in some browser, and what people do with it."""

    def open(self, address: str) -> None:
        raise NotImplementedError

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        raise NotImplementedError

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        raise NotImplementedError

    def wait(self, script: str, *arguments: Any) -> Any:
        """Wait until an expression is true; its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(f"return {script}", *arguments)):
            assert time.monotonic() < end, script
            time.sleep(0.01)
        return value

    def text(self, selector: str) -> str:
        return str(
            self.run("return document.querySelector(arguments[0]).innerText.trim()", selector)
        )

    def card(self) -> int:
        """The question on the screen, once there is one."""
        return int(self.wait("document.querySelector('.card')?.dataset.question"))

    def is_sent(self) -> None:
        """Wait until nothing is on its way."""
        self.wait("document.getElementById('main').dataset.unsent === '0'")


class Browser(Page):
    """Chromium, driven by Selenium."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

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

    def screen(self, size: tuple[int, int], dark: bool = False) -> None:
        """Make the window a desk's or a phone's, light or dark."""
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
        tell = self.driver.execute_cdp_cmd
        tell("Network.enable", {})
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        tell("Network.emulateNetworkConditions", {"offline": not there, **speed})

    def complaints(self) -> list[str]:
        """What the browser complained about since this was last asked, refused scripts included."""
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


class Firefox(Page):
    """Firefox, spoken to by WebDriver BiDi, for which it needs no driver beside it."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self._socket = socket
        self._told = 0
        self._tell("session.new", capabilities={})
        self._page = self._tell("browsingContext.getTree")["contexts"][0]["context"]
        viewport = {"width": DESK[0], "height": DESK[1]}
        self._tell("browsingContext.setViewport", context=self._page, viewport=viewport)

    def _tell(self, method: str, **params: Any) -> Any:
        self._told += 1
        self._socket.send(json.dumps({"id": self._told, "method": method, "params": params}))
        while (reply := json.loads(self._socket.recv())).get("id") != self._told:
            pass  # an event
        assert reply["type"] == "success", reply
        return reply["result"]

    def open(self, address: str) -> None:
        self._tell("browsingContext.navigate", context=self._page, url=address, wait="complete")

    def press(self, *keys: str) -> None:
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": strokes}]
        self._tell("input.performActions", context=self._page, actions=actions)

    def run(self, script: str, *arguments: Any) -> Any:
        # A string comes back as it is, and everything can be a string.
        function = f"function () {{ return JSON.stringify((function () {{ {script} }})"
        reply = self._tell(
            "script.callFunction",
            functionDeclaration=f"{function}.apply(null, {json.dumps(arguments)}) ?? null) }}",
            awaitPromise=False,
            target={"context": self._page},
        )
        assert reply["type"] == "success", reply
        return json.loads(reply["result"]["value"])


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A new Firefox with a profile of its own."""
    name = program("firefox-esr", "firefox")
    with tempfile.TemporaryDirectory() as profile:
        command = [name, "--headless", "--profile", profile, "--remote-debugging-port", "0"]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                where = json.loads(written(Path(profile, "WebDriverBiDiServer.json")))
                address = f"ws://{where['ws_host']}:{where['ws_port']}/session"
                socket = websocket.create_connection(
                    address, timeout=PATIENCE, suppress_origin=True
                )
                yield Firefox(socket)
                socket.close()
            finally:
                process.terminate()


def written(path: Path) -> str:
    """What is in a file that is about to be written."""
    end = time.monotonic() + PATIENCE
    while not (path.exists() and (text := path.read_text(encoding="utf-8"))):
        assert time.monotonic() < end, path
        time.sleep(0.01)
    return text


def axe() -> str:
    """The source of axe-core, which npm installs beside the environment."""
    project = Path(__file__).parents[2]
    for folder in (Path(os.environ.get("HEADWATER_NODE", "")), project / ".venv"):
        path = folder / "node_modules/axe-core/axe.min.js"
        if path.exists():
            return path.read_text(encoding="utf-8")
    pytest.skip("no axe-core: npm install --prefix .venv axe-core")
