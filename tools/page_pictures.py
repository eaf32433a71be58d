"""``python -m tools.page_pictures``: the pictures of the live page in docs/figures, from a real service and Chromium.

The demonstration comes from ``linkedbandits serve --demo``; the others are played here, to their end or a part of it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

import linkedbandits as lb
from linkedbandits.service.client import Client, RemoteExperiment
from linkedbandits.service.demo import NAME
from tools.waiting import SECONDS, until

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PORT = 8765
OUT_IN_DEMO = 2
"""Options of the demonstration that are out when its picture is taken: some of every kind are to be seen."""
CITIES = {"Amsterdam": 0.5, "Berlin": 0.4, "Copenhagen": 0.3, "Dublin": 0.2, "Espoo": 0.3, "Frankfurt": 0.6}
HARD = 0.3
"""The share of requests that nobody can serve."""
BINS = {f"bin {number}": 0.002 + 0.02 * max(0.0, 1 - abs(number - 620) / 6) for number in range(1000)}


def main() -> None:
    """Play, look and write."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no Chromium; install it with: apt-get install chromium-headless-shell")
    with tempfile.TemporaryDirectory() as folder, service(Path(folder)) as url, Client(url) as client:
        bins = client.create("Depth sensor, one pixel", list(BINS), lb.LinkedElimination(delta=0.05))
        play(bins, BINS, 20_000)
        ordered = client.create("Which of six mirrors first?", list(CITIES), lb.LinkedDuels(0.05, gap=0.02))
        play(ordered, CITIES, 100_000, hard=HARD)
        demo = until(lambda: demo_of(client), "the demonstration")
        assert demo is not None
        until(lambda: demo.done or out(demo) >= OUT_IN_DEMO, "the demonstration to go on", seconds=600)
        with sync_playwright() as engine:
            browser = engine.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
            take(browser, url, "", "list", wait_for="#page tbody tr", width=1100, height=620)
            take(browser, url, "new", "new", wait_for="#page form", width=1100, height=1250)
            both = f"compare/{demo.id}/{ordered.id}"
            take(browser, url, both, "compare", wait_for="#page canvas", width=1100, height=1000, color_scheme="dark")
            take(browser, url, page_of(demo), "light", width=1100, height=1480)
            take(browser, url, page_of(demo), "phone", width=360, height=1300, device_scale_factor=1.5)
            take(browser, url, page_of(ordered), "dark", width=1100, height=1200, color_scheme="dark")
            take(
                browser, url, page_of(bins), "thousand", width=1100, height=1400, color_scheme="dark", by_estimate=True
            )
            browser.close()


@contextmanager
def service(folder: Path) -> Iterator[str]:
    """Where a service with its demonstration is."""
    url = f"http://127.0.0.1:{PORT}"
    command = [sys.executable, "-m", "linkedbandits", "serve", "--demo", "--port", str(PORT)]
    process = subprocess.Popen(
        [*command, "--store", str(folder / "store.sqlite")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: process.poll() is not None or answers(url), "the service to answer")
        yield url
    finally:
        process.terminate()
        process.wait(SECONDS)


def answers(url: str) -> bool:
    """Is it there yet?"""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=SECONDS) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def demo_of(client: Client) -> RemoteExperiment | None:
    """The demonstration, once it has begun."""
    found = [listed.id for listed in client.experiments() if listed.name == NAME]
    return client.experiment(found[0]) if found else None


def out(experiment: RemoteExperiment) -> int:
    """How many of its options are out."""
    time.sleep(1)  # the service has other things to do than to be asked
    return sum(not estimate.still_in for estimate in experiment.estimates())


def play(experiment: RemoteExperiment, means: dict[str, float], plays: int, hard: float = 0.0) -> None:
    """Until there is a verdict, or for that many plays; a share of the requests is too hard for everybody."""
    coin, done = random.Random(1), False
    while plays > 0 and not done:
        asked = experiment.ask_many(min(plays, 200))
        told = []
        for one in asked:
            served = coin.random() >= hard
            works = (arm for arm in one.arms if served and coin.random() * (1 - hard) < means[str(arm)])
            told.append((one.id, next(works, None)))
        done = experiment.tell_many(told).done
        plays -= len(asked)


def page_of(experiment: RemoteExperiment) -> str:
    """Where its page is."""
    return f"experiments/{experiment.id}"


def take(
    browser: Browser,
    url: str,
    address: str,
    name: str,
    *,
    wait_for: str = "[data-part=arms-rows] tr",
    width: int,
    height: int,
    by_estimate: bool = False,
    **options: Any,
) -> None:
    """Write the picture of a page, once a part of it is there."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page = context.new_page()
    page.goto(f"{url}/#/{address}")
    page.locator(wait_for).first.wait_for()
    if by_estimate:
        page.get_by_label("By estimate").check()
    page.wait_for_timeout(6_000)  # the outlook is computed in the background
    page.screenshot(path=FIGURES / f"live-page-{name}.png")
    context.close()
    print(f"written: docs/figures/live-page-{name}.png", flush=True)


if __name__ == "__main__":
    main()
