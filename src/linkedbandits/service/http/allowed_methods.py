"""Which methods a path takes. The framework's own answer names those of one route, and routes have one each here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_METHODS = {"get", "put", "post", "delete", "patch"}


class AllowedMethods:
    """As the OpenAPI document has them."""

    def __init__(self, paths: Mapping[str, Iterable[str]]) -> None:
        """By path, as templates, what the document says of each method.

        >>> allowed = AllowedMethods({"/a/{x}": ["put", "delete"], "/a/b": ["get"]})
        >>> allowed.of("/a/b"), allowed.of("/a/c"), allowed.of("/")
        ('GET', 'DELETE, PUT', None)
        """
        # What is spelt out goes before what stands for anything.
        self._paths = [
            (_pattern(path), ", ".join(sorted(method.upper() for method in methods if method in _METHODS)))
            for path, methods in sorted(paths.items(), key=lambda item: item[0].count("{"))
        ]

    def of(self, path: str) -> str | None:
        """For the header Allow; None for a path that is not documented."""
        return next((methods for pattern, methods in self._paths if pattern.fullmatch(path)), None)


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]*\}", template)
    return re.compile("[^/]+".join(map(re.escape, parts)))
