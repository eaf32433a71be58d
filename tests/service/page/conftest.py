"""A real service and a real Chromium for the tests of the live page.

Without playwright or Chromium these tests are skipped, and say what is missing.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from linkedbandits.service.client import Client
from tests.support.live_service import running_service
from tools.waiting import SECONDS

FOLDER = Path(__file__).parent
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """A service that the tests share; each makes experiments of its own."""
    with running_service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def own_service(tmp_path):
    """A service that a test may kill, or close to those without a token."""
    with running_service(tmp_path) as running:
        yield running


@pytest.fixture
def client(service):
    with Client(service.url) as made:
        yield made


class OneChromium:
    """One Chromium for all tests of the page that follow each other; they are brought together in conftest.py.

    While playwright runs, no other event loop can run in this thread: it ends before any other test.
    """

    def __init__(self):
        self.more_to_come = False
        self._open = ExitStack()
        self._launched = None

    def launched(self):
        if self._launched is None:
            sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
            # The one without windows takes about half the processor's time, and is the same otherwise.
            chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
            if chromium is None:
                pytest.skip("the tests of the live page need Chromium: apt-get install chromium-headless-shell")
            sync_api.expect.set_options(timeout=1000 * SECONDS)
            engine = self._open.enter_context(sync_api.sync_playwright())
            self._launched = engine.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
            self._open.callback(self._launched.close)
        return self._launched

    def end(self):
        self._launched = None
        self._open.close()


CHROMIUM = OneChromium()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item, nextitem):
    """Before fixtures are given back."""
    CHROMIUM.more_to_come = nextitem is not None and FOLDER in nextitem.path.parents


def pytest_sessionfinish():
    """Where the tests were cut short."""
    CHROMIUM.end()


@pytest.fixture(scope="module")
def browser():
    yield CHROMIUM.launched()
    if not CHROMIUM.more_to_come:
        CHROMIUM.end()


@pytest.fixture
def open_page(browser):
    """Open an address in a fresh profile; no page may have had an error or broken the security policy in the end."""
    contexts, errors = [], []

    def note_console(message):
        # The browser itself logs every answer that is not a success; those are what some tests are about.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            errors.append(message.text)

    def open_(url, *, width=1200, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        page.on("console", note_console)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert errors == []
