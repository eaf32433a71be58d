"""Machine code made beforehand: which parts there are, and what is said where it cannot be made."""

import subprocess
import sys

import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled import __main__ as module
from linkedbandits.lidar.engines.compiled.__main__ import PARTS, SHARED_OUT, main
from linkedbandits.lidar.engines.compiled.compiling import is_ready
from linkedbandits.lidar.engines.compiled.fixed_loop import acquire_even


def test_a_part_is_made_in_this_process(capsys):
    assert main(["even"]) == 0
    assert acquire_even.signatures
    assert is_ready(acquire_even)
    assert capsys.readouterr().out == ""


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are(capsys):
    assert main(["odd"]) == 1
    assert "'odd'; choose from pulse," in capsys.readouterr().err


def test_every_part_is_shared_out_once():
    assert sorted(name for names in SHARED_OUT for name in names) == sorted(PARTS)


@pytest.mark.parametrize(("codes", "code"), [((0, 0), 0), ((0, 1), 1), ((1, 0), 1)])
def test_without_names_all_parts_are_made_and_one_that_fails_fails_all(monkeypatch, capsys, codes, code):
    asked = dict(zip(SHARED_OUT, codes, strict=True))
    monkeypatch.setattr(module, "_in_a_process", asked.pop)
    assert main([]) == code
    assert not asked
    assert ("ready" in capsys.readouterr().out) == (code == 0)


def test_without_numba_it_says_what_to_install():
    code = (
        "import sys; sys.modules['numba'] = None; "
        "from linkedbandits.lidar.engines.compiled.__main__ import main; sys.exit(main(['even']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "pip install 'linkedbandits[compiled]'" in ended.stderr
    assert "Traceback" not in ended.stderr
