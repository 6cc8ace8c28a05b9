"""Labelling through the page, in a real browser, while events come in.

    python benches/labelling.py [--cards 300] [--events 500] [--pace 0]

A service, a sender of `events` per second in a process of its own, and Chromium with the labelling
page. A script in the page presses a key as soon as a card is there (and `pace` seconds have passed)
and notes when the next card is on the screen: after the frame in which it is drawn. Printed: labels
per minute; from key press to next card, median and 99th percentile; from key press until the
service has confirmed the answer.
"""

import json
import multiprocessing
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import click

SERVE = "from headwater.cli import main; main()"
PRESS = """
const [count, pace, done] = [arguments[0], arguments[1] * 1000, arguments[2]];
const times = [], sent = [], began = performance.now();
const real = window.fetch;
const out = new Map();
window.fetch = async (...all) => {
  const reply = await real(...all);
  if (String(all[0]).endsWith("/acts")) {
    for (const { question } of JSON.parse(all[1].body).acts) {
      if (!out.has(question)) continue;
      sent.push(performance.now() - out.get(question));
      out.delete(question);
    }
  }
  return reply;
};
const card = () => document.querySelector(".card")?.dataset.question;
const frame = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
(async () => {
  for (let i = 0; i < count; i++) {
    while (!card()) await frame();
    const question = card(), at = performance.now();
    out.set(Number(question), at);
    const key = i % 2 ? "1" : "2";
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    while (card() === question || !card()) await frame();
    await frame();
    times.push(performance.now() - at);
    if (pace) await new Promise((then) => setTimeout(then, pace));
  }
  const seconds = (performance.now() - began) / 1000;
  while (out.size) await frame();
  done({ times, sent, seconds });
})();
"""


def send(url: str, token: str, rate: float, sent: "Synchronized[int]") -> None:
    """Send events at a rate, ten requests per second, until the process ends."""
    random.seed(1)
    batch = max(1, round(rate / 10))
    start, number = time.perf_counter(), 0
    while True:
        events = [
            {"id": f"e{number + i}", "features": {f"s{k}": random.gauss(k, 1) for k in range(20)}}
            for i in range(batch)
        ]
        request = urllib.request.Request(
            f"{url}/v1/streams/main/events",
            json.dumps(events).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=60).read()
        number += batch
        with sent.get_lock():
            sent.value = number
        time.sleep(max(0.0, start + number / rate - time.perf_counter()))


@click.command()
@click.option("--cards", default=300, show_default=True, help="Cards that are answered.")
@click.option("--events", default=500.0, show_default=True, help="Events per second; 0: none.")
@click.option("--pace", default=0.0, show_default=True, help="Seconds that a labeller thinks.")
def main(cards: int, events: float, pace: float) -> None:
    """Answer cards by a script in a real browser, while events come in."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SERVE, "serve", "--db", str(Path(folder, "bench.db"))]
        with open(Path(folder, "log"), "wb") as log:
            server = subprocess.Popen(
                [*command, "--port", "8429", "--budget", "0.2"],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert server.stdout is not None
        said = [server.stdout.readline(), server.stdout.readline()]
        token = next(line.split()[-1] for line in said if "token" in line)
        url = "http://127.0.0.1:8429"
        sent = multiprocessing.Value("i", 0)
        sender = multiprocessing.Process(target=send, args=(url, token, max(events, 1.0), sent))
        sender.start()
        while sent.value < max(5 * cards, 5 * events):  # so that there are cards from the start
            time.sleep(0.1)
        if not events:
            sender.terminate()
        told = webdriver.ChromeOptions()
        told.binary_location = shutil.which("chromium") or ""
        for one in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
            told.add_argument(one)
        driver = webdriver.Chrome(told, Service(shutil.which("chromedriver")))
        try:
            driver.set_script_timeout(600)
            driver.get(f"{url}/login")
            driver.find_element(By.ID, "token").send_keys(token)
            driver.find_element(By.CSS_SELECTOR, "#login button").click()
            while "/label" not in driver.current_url:
                time.sleep(0.05)
            before, began = sent.value, time.perf_counter()
            measured = driver.execute_async_script(PRESS, cards, pace)
            rate = (sent.value - before) / (time.perf_counter() - began)
        finally:
            driver.quit()
            sender.terminate()
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    click.echo(f"{cards} cards while {rate:.0f} events per second came in")
    click.echo(f"labels per minute                  {60 * cards / measured['seconds']:8.0f}")
    for name, times in (
        ("key press to next card", measured["times"]),
        ("key press to confirmed answer", measured["sent"]),
    ):
        middle, high = statistics.median(times), statistics.quantiles(times, n=100)[98]
        click.echo(f"{name:30} p50 {middle:7.1f} ms   p99 {high:7.1f} ms")


if __name__ == "__main__":
    main()
