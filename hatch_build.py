"""The README as package indexes show it: its links lead to the repository, because beside it there is nothing there.

In the repository links are relative, so that they work in every clone and on every branch.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def with_absolute_links(text: str, source: str) -> str:
    """The text with its links to files led to ``source``, the address of the repository; pictures as they are."""
    return LINK.sub(lambda m: f"{m[1]}[{m[2]}]({source}/{'raw' if m[1] else 'blob'}/main/{m[3]})", text)


class ReadmeHook(MetadataHookInterface):
    """Hatchling finds this one by its base class."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the README."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, metadata["urls"]["Source"]),
        }
