"""What is missing is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools.waiting import SECONDS


@pytest.mark.parametrize(
    ("missing", "act"),
    [
        ("httpx", "import linkedbandits.service.client"),
        ("fastapi", "from linkedbandits.cli.serve import serve; serve()"),
        ("httpx", "from linkedbandits.cli.demo_traffic import demo_traffic; demo_traffic()"),
    ],
)
def test_the_extra_to_install_is_named(missing, act):
    code = f"import sys; sys.modules[{missing!r}] = None; {act}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "MissingExtra" in last
    assert missing in last
    assert "pip install 'linkedbandits[" in last


def test_the_library_itself_does_not_load_the_service():
    code = "import sys, linkedbandits; sys.exit(any(name.startswith('linkedbandits.service') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=SECONDS).returncode == 0
