"""What the bounds import before it is asked anything."""

from __future__ import annotations

import subprocess
import sys

from tools.waiting import SECONDS

LOADED = """
import sys
import linkedbandits.bounds
print(*[name for name in ("scipy.optimize", "matplotlib") if name in sys.modules])
"""


def test_neither_a_solver_nor_plots_are_loaded_before_they_are_used():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert done.stdout.split() == []
