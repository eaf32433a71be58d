"""The documents become a site without a warning, and every page of it fits a phone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import environment
from tools.waiting import SECONDS

DOCS = Path(__file__).parent.parent / "docs"
PHONE = 390
STICKING_OUT = """() => [...document.querySelectorAll('article *')].filter(element => {
  const place = element.getBoundingClientRect();
  if (!place.width || place.right <= window.innerWidth + 1) return false;
  for (let around = element.parentElement; around.tagName !== 'ARTICLE'; around = around.parentElement)
    if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(around).overflowX)) return false;
  return true;
}).map(element => element.outerHTML.slice(0, 80))"""
"""What is wider than the window, unless it scrolls inside something that is not, as tables and code do."""


def built(folder: Path) -> Path:
    """The site, built as ``make docs`` builds it."""
    for module in ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(module, reason="the site needs the extra docs: pip install 'linkedbandits[docs]'")
    options = ["-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def look_at(site: Path, browser, scheme: str) -> tuple[list[str], list[str], bool]:
    """What is wider than a phone, errors of their scripts, and whether the paper is white."""
    context = browser.new_context(viewport={"width": PHONE, "height": 800}, color_scheme=scheme)
    context.set_default_timeout(1000 * SECONDS)
    page, errors, wide = context.new_page(), [], []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        wide += [f"{path.name}: {element}" for element in page.evaluate(STICKING_OUT)]
    white = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    context.close()
    return wide, errors, white


@pytest.mark.slow
def test_every_document_becomes_a_page_that_fits_a_phone(tmp_path):
    """One test, because the site takes long to build."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("looking at the site needs Chromium: apt-get install chromium-headless-shell")
    site = built(tmp_path)
    documents = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert {path.relative_to(site) for path in site.rglob("*.html")} >= documents
    assert "LinkedElimination" in (site / "api" / "policies.html").read_text(encoding="utf-8")
    with sync_api.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"])
        assert look_at(site, browser, "light") == ([], [], True)
        assert look_at(site, browser, "dark") == ([], [], False)
        browser.close()
