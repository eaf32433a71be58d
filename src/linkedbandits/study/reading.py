"""Tables of a file that a person wrote: every key is read by name and kind, and an unknown key is refused.

Messages name the key with its place in the file, such as ``policies[2].delta``, and what would do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

from linkedbandits.errors import InvalidStudy, LinkedBanditError

T = TypeVar("T")


class Keys:
    """One table of the file."""

    def __init__(self, data: dict[str, Any], where: str = "") -> None:
        self._data = data
        self._where = where
        self._taken: list[str] = []

    def place(self, key: str) -> str:
        """The key as a person finds it in the file."""
        return f"{self._where}.{key}" if self._where else key

    def has(self, key: str) -> bool:
        """Is the key there?"""
        return key in self._data

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        value = self._take(key, default, 'write it as text, such as "name"')
        if not isinstance(value, str) or not value.strip():
            raise self._refusal(key, value, 'is no text; write it in quotes, such as "name"')
        return value

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        value = self._take(key, default, f"give a whole number of at least {least}")
        if not _is_whole(value) or value < least:
            raise self._refusal(key, value, f"is no whole number of at least {least}")
        return int(value)

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        value = self._take(key, default, "give a number")
        if not _is_number(value):
            raise self._refusal(key, value, "is no number; write one without quotes")
        return float(value)

    def wholes(self, key: str, least: int = 1) -> list[int]:
        """A whole number, or a list of them."""
        values = self._list(key, "give a whole number, or several as [10, 100]")
        for value in values:
            if not _is_whole(value) or value < least:
                raise self._refusal(key, value, f"is no whole number of at least {least}")
        self._check_once(key, values)
        return values

    def numbers(self, key: str, default: list[float] | None = None, *, once: bool = False) -> list[float]:
        """A number, or a list of them; ``once`` if none may be there twice."""
        values = self._list(key, "give numbers as [0.1, 0.2]", default)
        for value in values:
            if not _is_number(value):
                raise self._refusal(key, value, "is no number; write numbers without quotes, as [0.1, 0.2]")
        if once:
            self._check_once(key, values)
        return [float(value) for value in values]

    def texts(self, key: str, default: list[str]) -> list[str]:
        """A text, or a list of them."""
        values = self._list(key, 'give texts as ["one", "two"]', default)
        for value in values:
            if not isinstance(value, str):
                raise self._refusal(key, value, "is no text; write it in quotes")
        self._check_once(key, values)
        return values

    def table(self, key: str) -> dict[str, Any]:
        """A table within the table; empty if it is not there."""
        value = self._take(key, {}, "give a table")
        if not isinstance(value, dict):
            raise self._refusal(key, value, "is no table; write { name = value }")
        return value

    def tables(self, key: str) -> list[Keys]:
        """The tables that the file writes under ``[[key]]``."""
        value = self._take(key, None, f"add at least one [[{key}]]")
        if not isinstance(value, list) or not value or not all(isinstance(row, dict) for row in value):
            raise self._refusal(key, value, f"is no list of tables; write each under its own [[{key}]]")
        return [Keys(row, f"{self.place(key)}[{number}]") for number, row in enumerate(value, start=1)]

    def check_spelling(self, *missing: str) -> None:
        """Refuse a key that was not read and looks like one of these, which are missing."""
        for key in self._data:
            meant = get_close_matches(key, missing, n=1)
            if key not in self._taken and meant:
                raise InvalidStudy(f"{self.place(key)} is no key of a study; did you mean {meant[0]!r}?")

    def finish(self) -> None:
        """Refuse keys that were not read: a misspelt key would otherwise be a default in disguise."""
        for key in self._data:
            if key not in self._taken:
                known = get_close_matches(key, self._taken, n=1)
                hint = f"did you mean {known[0]!r}?" if known else f"known here: {', '.join(sorted(self._taken))}"
                raise InvalidStudy(f"{self.place(key)} is no key of a study; {hint}")

    @contextmanager
    def meaning(self, key: str) -> Iterator[None]:
        """Name the key in what the library refuses about its value."""
        try:
            yield
        except InvalidStudy:
            raise
        except (LinkedBanditError, TypeError) as error:
            raise self.refuse(key, str(error)) from error

    def refuse(self, key: str, why: str) -> InvalidStudy:
        """The error for a value that has the right kind and the wrong meaning."""
        return InvalidStudy(f"{self.place(key)}: {why}")

    def _take(self, key: str, default: Any, remedy: str) -> Any:
        self._taken.append(key)
        if key in self._data:
            return self._data[key]
        if default is None:
            self.check_spelling(key)
            raise InvalidStudy(f"{self.place(key)} is missing; {remedy}")
        return default

    def _list(self, key: str, remedy: str, default: list[T] | None = None) -> list[Any]:
        value = self._take(key, default, remedy)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise self._refusal(key, value, f"is empty; {remedy}")
        return values

    def _check_once(self, key: str, values: list[Any]) -> None:
        twice = [value for value in values if values.count(value) > 1]
        if twice:
            raise self._refusal(key, twice[0], "is in the list twice; leave one out")

    def _refusal(self, key: str, value: Any, why: str) -> InvalidStudy:
        return InvalidStudy(f"{self.place(key)} = {value!r} {why}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    """A finite one; a whole number can be larger than any float."""
    largest = sys.float_info.max
    return isinstance(value, int | float) and not isinstance(value, bool) and -largest <= value <= largest
