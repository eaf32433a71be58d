"""``python -m tools.gallery``: run the scripts of the gallery, and write their pictures and their page.

The page has each script as it is, so that it reads the same in the repository and on the site.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from tools.waiting import SECONDS

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples" / "gallery"
PICTURES = ROOT / "docs" / "figures" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"
TITLES = {
    "what_a_play_shows": "What a play shows, and hides",
    "chain_learns": "A fallback chain that finds its own order",
    "from_a_log": "The best provider, from a log",
    "policies_compared": "Policies against the lower bound",
    "fail_together": "Options that fail together",
    "depth_frame": "A depth map from single photons",
}
"""Of every script, in the order of the page."""
HEAD = """# Gallery

Short scripts that run as they stand, with the picture that each makes: `python examples/gallery/NAME.py picture.png`.
They need `pip install 'linkedbandits[plot]'`, the one with a log also `study`.
"""


def picture_of(name: str) -> Path:
    """Where the picture of a script is kept."""
    return PICTURES / f"{name.replace('_', '-')}.png"


def run(name: str, picture: Path) -> str:
    """Run a script; what it prints."""
    done = subprocess.run(
        [sys.executable, SCRIPTS / f"{name}.py", picture],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=SECONDS,
        env=os.environ | {"MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout


def heading(document: str) -> str:
    """What a document is called."""
    return (ROOT / "docs" / document).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def section(name: str, printed: str) -> str:
    """What the page has of a script."""
    code = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    words = ast.get_docstring(ast.parse(code)) or ""
    words = re.sub(r"docs/([\w-]+\.md)", lambda found: f"[{heading(found.group(1))}]({found.group(1)})", words)
    words = words.replace("benchmarks/data/README.md", "[benchmarks/data](../benchmarks/data/README.md)")
    return f"""
## {TITLES[name]}

{words}

![{TITLES[name]}](figures/gallery/{picture_of(name).name})

```text
{printed}```

<details>
<summary>examples/gallery/{name}.py</summary>

```python
{code}```

</details>
"""


def main() -> None:
    """Make everything anew."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(HEAD + "".join(section(name, run(name, picture_of(name))) for name in TITLES), encoding="utf-8")


if __name__ == "__main__":
    main()
