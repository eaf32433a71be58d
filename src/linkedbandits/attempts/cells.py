"""Cells of a log, which are text, as numbers: labels, figures and times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.outcomes import (
    BLANK,
    DASH,
    FAILURE,
    SUCCESS,
    UNKNOWN,
    is_no_error,
    means_an_error,
    outcome_of,
)
from linkedbandits.errors import InvalidAttempts, InvalidParameter

if TYPE_CHECKING:
    import polars as pl

MOST_OPTIONS = 1000
MOST_WORDS = 100
MISSING, NOT_GIVEN = -1, -2
NOTHING = ("", "-")
"""Where an option should be: none was tried."""
MOST_WAYS = 3
"""To write a name, of those that are shown."""

JOIN_BY_CASE = "--ignore-case (ignore_case=True) makes them one"

_BETWEEN = re.compile(r"\s*[,>|;]\s*|\s+:\s+")

Blank = Literal["failure", "success", "aside"]
"""What an attempt without an outcome is: one that failed, one that worked, or nothing that can be used."""
BLANKS: dict[Blank, int | None] = {"failure": FAILURE, "success": SUCCESS, "aside": None}

Words = str | Sequence[str]
"""Outcomes as a log writes them: one word, or several."""

Floats = npt.NDArray[np.float64]

_TIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f%:z",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M%:z",
    "%Y-%m-%d %H:%M",
    "%d/%b/%Y:%H:%M:%S %z",
    "%Y%m%d %H%M%S",
    "%Y%m%d %H%M%S%.f%:z",
)


def trimmed(cells: pl.DataFrame, names: Mapping[str, str]) -> dict[str, pl.Series]:
    """The columns by what they mean, without blanks around what is in them; empty cells are null."""
    import polars as pl

    text = {meaning: pl.col(name).str.strip_chars() for meaning, name in names.items()}
    return cells.select(pl.when(column != "").then(column).alias(meaning) for meaning, column in text.items()).to_dict()


class Labels:
    """The options by number, in the order in which they turn up unless they are given.

    To ``ignore_case`` is to take names that differ in it for one option, called as it was given or else as it is
    written most often.

    >>> labels = Labels("log", ignore_case=True)
    >>> [labels.number(name) for name in ("Adyen", "stripe", "ADYEN")]
    [0, 1, 0]
    >>> labels.count(["Adyen"], 2)
    >>> labels.count(["ADYEN"], 3)
    >>> labels.all, labels.noticed()
    (('ADYEN', 'stripe'), ("'Adyen' and 'ADYEN' differ only in case, and are taken for one option, 'ADYEN'",))
    """

    def __init__(self, where: str, given: tuple[str, ...] | None = None, ignore_case: bool = False) -> None:
        self._where = where
        self.ignore_case = ignore_case
        self._first_way: dict[str, str] = {}
        self._ways: dict[str, dict[str, int]] = {}
        for label in given or ():
            if self.one_way(label) != label:
                raise InvalidAttempts(
                    f"options {self.one_way(label)!r} and {label!r} differ only in case, which is to be ignored; give "
                    "one of them, or leave out ignore_case"
                )
        self._complete = given is not None
        self._known = {label: number for number, label in enumerate(given or ())}
        self._written: dict[str, set[str]] = {}
        self._on_record: set[int] = set()
        self._left_out: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """The options."""
        return tuple(self._called(label) for label in self._known)

    def one_way(self, label: str) -> str:
        """One way to write a name, the same for all that are one option: the first that turned up."""
        return self._first_way.setdefault(label.casefold(), label) if self.ignore_case else label

    def count(self, labels: Iterable[str], rows: int) -> None:
        """So many rows have these names, written like this; it matters where case does not."""
        if self.ignore_case:
            for label in labels:
                ways = self._ways.setdefault(self.one_way(label), {})
                ways[label] = ways.get(label, 0) + rows

    def _called(self, label: str) -> str:
        """What an option is called: as it was given, or else as it is written most often."""
        ways = self._ways.get(label)
        return label if self._complete or not ways else max(ways, key=lambda way: ways[way])

    def number(self, label: str) -> int:
        """That of one option; ``NOT_GIVEN`` if all were given and it was not."""
        label = self.one_way(label)
        if label not in self._known:
            if self._complete:
                return NOT_GIVEN
            if len(self._known) == MOST_OPTIONS:
                raise InvalidAttempts(
                    f"{self._where} has more than {MOST_OPTIONS:,} options, such as {label!r}; this is probably not "
                    "the column with the options: say which one is, or leave out rows of options that do not matter"
                )
            self._known[label] = len(self._known)
        return self._known[label]

    def numbers(self, cells: pl.Series) -> npt.NDArray[np.int16]:
        """Those of a column, blanks around them apart; ``MISSING`` where there is nothing, or a dash for nothing."""
        distinct = [label for label in cells.unique(maintain_order=True).to_list() if label is not None]
        numbers = [MISSING if label.strip() in NOTHING else self.number(label.strip()) for label in distinct]
        for label in distinct:
            self._written.setdefault(label.strip(), set()).add(label)
        if self.ignore_case:
            rows = dict(cells.value_counts().iter_rows())
            for label in distinct:  # in this order, so that of two that are as many the first one counts
                if label.strip() not in NOTHING:
                    self.count([label.strip()], rows[label])
        return _replaced(cells, distinct, numbers, MISSING)

    def put_on_record(self, numbers: Iterable[int]) -> None:
        """Options of rows that are used; numbers below 0 are none."""
        self._on_record.update(number for number in numbers if number >= 0)

    def leave_out_others(self) -> npt.NDArray[np.int32] | None:
        """Forget those of rows that are set aside alone, unless options were given; the new number of each, if any."""
        if self._complete or len(self._on_record) == len(self._known):
            return None
        number_of = np.full(len(self._known) + 1, MISSING, dtype=np.int32)  # the last one is for MISSING itself
        kept = sorted(self._on_record)
        number_of[kept] = np.arange(len(kept), dtype=np.int32)
        self._left_out = tuple(label for label, number in self._known.items() if number not in self._on_record)
        labels = tuple(self._known)
        self._known = {labels[old]: new for new, old in enumerate(kept)}
        return number_of

    def noticed(self) -> tuple[str, ...]:
        """Names that are nearly the same: those that differ in blanks around them are one option, all others are not.

        >>> labels = Labels("log")
        >>> [labels.number(name) for name in ("Adyen", "adyen")]
        [0, 1]
        >>> labels.noticed()[0]
        "'Adyen' and 'adyen' differ only in case, and are two options; --ignore-case (ignore_case=True) makes them one"
        """
        said = []
        if self._left_out:
            shown = ", ".join(map(repr, self._left_out[:MOST_WAYS]))
            more = len(self._left_out) - MOST_WAYS
            said.append(
                f"{shown}{f' and {more:,} more' if more > 0 else ''}: in rows that are set aside alone, and no option "
                "here; give options= to have all"
            )
        for label in self._known:
            ways = sorted(self._written.get(label, ()), key=len)
            if len(ways) > 1:
                shown = " and ".join(map(repr, ways[:MOST_WAYS]))
                said.append(f"{shown} differ only in blanks at the ends, and are taken for one option")
        for label in self._known:
            joined = list(self._ways.get(label, ()))
            if len(joined) > 1:
                said.append(
                    f"{_and(joined[:MOST_WAYS])} differ only in case, and are taken for one option, "
                    f"{self._called(label)!r}"
                )
        said += alike_in_words(self._known)
        parts = {label: _BETWEEN.split(label) for label in self._known}
        listed = [
            label for label, found in parts.items() if len(found) > 1 and not self._known.keys().isdisjoint(found)
        ]
        if listed:
            said.append(
                f"{' and '.join(map(repr, listed[:MOST_WAYS]))} look like lists, and are taken for one option each; if "
                "a row lists what was tried, name its columns with order= and outcome="
            )
        return tuple(said)


def alike_in_words(names: Iterable[object]) -> tuple[str, ...]:
    """Names of options that are nearly the same, and what to do if they are one; case is for the command to ignore."""
    alike: dict[str, list[str]] = {}
    for name in map(str, names):
        alike.setdefault(" ".join(name.casefold().split()), []).append(name)
    said = []
    for found in alike.values():
        if len(found) > 1:
            by_case = len({name.casefold() for name in found}) == 1
            several = "two" if len(found) == 2 else str(len(found))
            said.append(
                f"{_and(found[:MOST_WAYS])} differ only in {'case' if by_case else 'case or in blanks'}, and are "
                f"{several} options; {JOIN_BY_CASE if by_case else 'write one name if they are one'}"
            )
    return tuple(said)


def _and(names: list[str]) -> str:
    return " and ".join(map(repr, names))


def words_of(name: str, words: Words) -> tuple[str, ...]:
    """Words that were given as a success or a failure.

    >>> words_of("success", "erledigt"), words_of("success", ["erledigt", "gut"])
    (('erledigt',), ('erledigt', 'gut'))
    """
    found = (words,) if isinstance(words, str) else tuple(words)
    for word in found:
        if not isinstance(word, str) or not word.strip():
            raise InvalidParameter(f"{name}={word!r} is no word; give one as the log has it, and blank= for nothing")
    return found


class Outcomes:
    """The outcomes of a column, as ``outcomes.py`` has them; unknown words have numbers from ``UNKNOWN`` on.

    Words of ``success`` and ``failure`` are that by the user's word, whatever they mean elsewhere; case does not
    matter.
    """

    def __init__(
        self, column: str, blank: Blank | None = None, success: Iterable[str] = (), failure: Iterable[str] = ()
    ) -> None:
        self._given = {word.strip().casefold(): SUCCESS for word in success}
        for word in failure:
            if self._given.setdefault(word.strip().casefold(), FAILURE) != FAILURE:
                raise InvalidParameter(f"{word!r} is given as a success and as a failure; give it as one of them")
        self._of_errors = means_an_error(column)
        self._words: dict[str, int] = {}
        self._successes: dict[str, None] = {}
        self._may_be_blank = blank is not None
        self.blank = None if blank is None else BLANKS[blank]
        """The outcome of attempts without one, by the user's word; None if they have none."""

    @property
    def words(self) -> tuple[str, ...]:
        """Those that are not known; the last one stands for all others if there are very many."""
        return tuple(self._words)

    @property
    def successes(self) -> tuple[str, ...]:
        """What was taken for a success, as it is written, in the order in which it turned up."""
        return tuple(self._successes)

    def numbers(self, cells: pl.Series) -> npt.NDArray[np.int16]:
        """Those of a column."""
        distinct = cells.unique(maintain_order=True).to_list()
        numbers = [self.number(text) for text in distinct]
        empty = numbers[distinct.index(None)] if None in distinct else UNKNOWN
        pairs = [(text, number) for text, number in zip(distinct, numbers, strict=True) if text is not None]
        return _replaced(cells, [text for text, _ in pairs], [number for _, number in pairs], empty)

    def number(self, text: str | None) -> int:
        """That of one cell, or of one entry of a list."""
        outcome = self._number(text)
        is_success = outcome == SUCCESS or (outcome in (BLANK, DASH) and self.blank == SUCCESS)
        if is_success and len(self._successes) < MOST_WORDS:
            self._successes.setdefault((text or "").strip())
        return outcome

    def _number(self, text: str | None) -> int:
        if self._given and text is not None and text.strip().casefold() in self._given:
            return self._given[text.strip().casefold()]
        if self._of_errors:
            is_blank = self._may_be_blank and (text is None or not text.strip())
            return BLANK if is_blank else int(is_no_error(text))
        outcome = outcome_of(text)
        if outcome != UNKNOWN:
            return outcome
        word = str(text).strip()
        if word not in self._words and len(self._words) >= MOST_WORDS - 1:
            word = "and others"
        return UNKNOWN + self._words.setdefault(word, len(self._words))


def _replaced(cells: pl.Series, old: list[str], new: list[int], empty: int) -> npt.NDArray[np.int16]:
    import polars as pl

    if not old:
        return np.full(len(cells), empty, dtype=np.int16)
    found = cells.replace_strict(old, new, default=None, return_dtype=pl.Int16)
    return found.fill_null(empty).to_numpy()


def figures(cells: pl.Series) -> Floats:
    """A column of numbers; not a number where a cell is none."""
    import polars as pl

    numbers = cells.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy().copy()
    numbers[np.isinf(numbers)] = np.nan
    return numbers


_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs", "micros", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanos", "nanoseconds"), 1e-9),
}
"""Behind a number, in small letters. The sign for a millionth is there twice, as a sign and as a Greek letter."""


def costs(cells: pl.Series) -> Floats:
    """A column of costs; not a number where a cell is none, or is below 0. A comma may stand for the point, unless it
    could as well be one between thousands.

    >>> import polars as pl
    >>> costs(pl.Series(["2.5", "2,5", "0,125", "1,000", "-1", "$3", None])).tolist()
    [2.5, 2.5, 0.125, nan, nan, nan, nan]
    """
    numbers = figures(cells.str.replace(r"^(\d+),(\d{1,2}|\d{4,})$", "$1.$2").str.replace(r"^0,(\d+)$", "0.$1"))
    numbers[numbers < 0] = np.nan
    return numbers


def durations(cells: pl.Series, in_one: float) -> Floats:
    """A column of durations in seconds; not a number where a cell is none. Numbers without a unit are ``in_one`` each.

    >>> import polars as pl
    >>> durations(pl.Series(["131ms", "0.5 s", "2", "80 µs", "soon", None]), 10.0).round(6).tolist()
    [0.131, 0.5, 20.0, 8e-05, nan, nan]
    """
    import polars as pl

    numbers = figures(cells) * in_one
    with_unit = np.flatnonzero(np.isnan(numbers) & cells.is_not_null().to_numpy())
    if with_unit.size:
        parts = cells.gather(with_unit).str.extract_groups(r"^\s*([0-9.eE+-]+)\s*([a-zA-Zµμ]+)\s*$").struct.unnest()
        scale = parts["2"].str.to_lowercase().replace_strict(_UNITS, default=None, return_dtype=pl.Float64)
        numbers[with_unit] = figures(parts["1"]) * scale.fill_null(float("nan")).to_numpy()
    return numbers


def lists_of_figures(cells: pl.Series) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The numbers of a column with a list a cell, one after the other, and how many there are of each cell.

    >>> import polars as pl
    >>> numbers, sizes = lists_of_figures(pl.Series(["0.1, 0.2", None, "[3]"]))
    >>> numbers.tolist(), sizes.tolist()
    ([0.1, 0.2, 3.0], [2, 0, 1])
    """
    import polars as pl

    lists = cells.str.strip_chars("[]() ").str.replace_all(r"\s*(?:[,;|>]|\s:\s)\s*", ",").str.split(",")
    numbers = figures(lists.drop_nulls().explode().str.strip_chars())
    return numbers, lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()


def times(cells: pl.Series) -> Floats:
    """Times in seconds since 1970; not a number where a cell is no time.

    Numbers are seconds, or thousandths, millionths and so on of seconds if they are so large that they must be. Others
    are dates with a time as ISO 8601 has them, or as web servers write them; without a zone they are taken for UTC.
    """
    import polars as pl

    seconds = figures(cells)
    numbers = np.abs(seconds)
    for above, scale in ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3)):
        large = numbers >= above
        if large.any():
            seconds[large] *= scale
            numbers[large] = 0
    if not np.isnan(seconds).any():
        return seconds
    text = cells.str.replace(r"^(\d{4}.\d\d.\d\d|\d{8})T", "$1 ").str.replace(r"\s*(?:Z|UTC)$", "+00:00")
    text = text.str.replace(r"((?::\d\d|\d{6})(?:\.\d+)?[+-]\d\d):?(\d\d)$", "$1:$2")
    text = text.str.replace(r"^(\d{4})/(\d\d)/(\d\d)", "$1-$2-$3")
    text = pl.select(pl.when(text.str.len_chars() == 10).then(text + " 00:00").otherwise(text)).to_series()
    for form in _TIME_FORMATS:
        left = np.flatnonzero(np.isnan(seconds))
        if not left.size:
            break
        parsed = text.gather(left).str.to_datetime(form, time_unit="us", strict=False)
        seconds[left] = parsed.dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy() / 1e6
    return seconds
