"""``linkedbandits reproduce`` as people run it."""

from __future__ import annotations

import pytest

from linkedbandits.study.reproduction import writing
from tests.support.command_line import run, run_json

pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")


@pytest.mark.slow
def test_it_runs_says_where_things_are_and_goes_on_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = run_json("reproduce", "--quick", "--workers", "1")
    assert data["folder"] == "reproduction-quick"
    for file in ("report.md", "report.html", "figure.png", "figure.svg", "figure.pdf", "table.parquet", "table.csv"):
        assert f"reproduction-quick/{file}" in data["files"]
        assert (tmp_path / "reproduction-quick" / file).stat().st_size > 1000
    similar = data["claims"][0]
    assert similar["verdict"] == "holds"
    assert list(similar["figures"]) == ["2", "5", "10", "20"]
    chunks = {
        path: path.stat().st_mtime_ns for path in (tmp_path / "reproduction-quick" / "results").rglob("*.parquet")
    }
    monkeypatch.setattr(writing, "save", lambda figure, path: path.write_text("drawn a second time", encoding="utf-8"))
    again = run("reproduce", "--quick")
    assert (again.returncode, again.stderr) == (0, "")
    assert "uniform sampling and linked EGE have similar performance" in again.stdout
    assert "reproduction-quick/report.html" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in chunks} == chunks
    assert (tmp_path / "reproduction-quick" / "figure.png").read_text(encoding="utf-8") == "drawn a second time"
