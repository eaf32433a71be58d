"""Where the rows of a log come from: files of text, JSON lines and Parquet, and tables in memory.

A source gives batches of rows, every cell as text, with the line that each row begins in. So a file of any length takes
no more memory than a batch, and what a cell means does not depend on the other cells of its column.

Text is cut into rows here, and not by the parser, because a file may be torn: a row with too few or too many fields,
half a last line, or a quote that is never closed costs that row, and no other.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.opening import BYTE_ORDER_MARK, opened, packing_of, read_errors
from linkedbandits.attempts.set_aside import A_FILE, Tally
from linkedbandits.errors import CannotRead, InvalidAttempts
from linkedbandits.extras import need_polars
from linkedbandits.model import BoolArray, IntArray

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 24
"""Bytes of text that are looked at together."""
BATCH = 1 << 19
"""Rows of a table that are looked at together."""
LONGEST_ROW = 1 << 20
"""Bytes after which a quote that was opened will not be closed any more."""
KEYS_FROM = 1000
"""Lines of JSON that are asked for their keys, and rows of any file for columns with nothing in them."""

TORN = ("torn rows", "a row needs as many fields as the header, and quotes that are closed")
NO_JSON = ("torn rows", "every line has to be a JSON object")
NO_UTF8 = ("rows that are not in UTF-8", "they were read as Windows-1252; save the file in UTF-8 if names look wrong")
HEADER_AGAIN = ("lines with the header again", "they are no attempts, but where files were put together")
SEPARATORS = ",\t;|"
NO_TEXT = bytes(sorted(set(range(32)) - set(b"\t\n\v\f\r\x1b")))
"""Bytes that text has next to none of."""
NEWLINE, RETURN, QUOTE = b"\n"[0], b"\r"[0], b'"'[0]

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Batch:
    """Rows as text, and the line of the file that each begins in."""

    cells: pl.DataFrame
    lines: IntArray


class Source(Protocol):
    """Anything that gives batches of rows."""

    where: str
    columns: tuple[str, ...]
    blank: frozenset[str]
    """Columns with nothing in them in the first rows."""
    tally: Tally
    """What is set aside."""
    noticed: Tally
    """What is used, and a reader should know of."""

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """The columns that are wanted, of all rows."""


def source_in(path: str | Path, separator: str | None = None) -> Source:
    """The rows of a file. What it is, is seen from its first bytes and not from its name."""
    need_polars("reading a log")
    where = str(path)
    with read_errors(where), Path(path).open("rb") as raw:
        magic = raw.read(4)
    if not magic:
        raise InvalidAttempts(f"{where} is empty; give a header, and a row for each attempt or each request")
    with read_errors(where), opened(path) as file:
        start = file.read(1 << 16)
    if start[:4] == b"PAR1":
        return _parquet(path, packing_of(magic) != "", where)
    start = start.removeprefix(BYTE_ORDER_MARK).lstrip()
    if not start:
        raise InvalidAttempts(f"{where} is empty; give a header, and a row for each attempt or each request")
    if b"\0" in start or 100 * (len(start) - len(start.translate(None, NO_TEXT))) > len(start):
        raise CannotRead(
            f"cannot read {where}, which is binary and no text in UTF-8 or UTF-16; give CSV, TSV, JSON lines or "
            "Parquet, or one of them with gzip around it"
        )
    if start[:1] == b"[":
        raise CannotRead(f"cannot read {where}, one JSON value; write an object a line, with: jq -c '.[]'")
    if start[:1] == b"{":
        return JsonLines.of(path, where)
    return SeparatedText.of(path, where, separator)


def source_in_all(paths: Sequence[str | Path], separator: str | None = None) -> Source:
    """The rows of several files, as one log in the order given."""
    sources = [source_in(path, separator) for path in paths]
    if not sources:
        raise InvalidAttempts("there is no file to read; name one or more")
    return sources[0] if len(sources) == 1 else OneAfterAnother(sources)


class OneAfterAnother:
    """Several sources as one. All need the columns that are read, in whatever order; JSON lines may lack a key."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        files = tuple(source.where for source in sources)
        self.where = f"{', '.join(files[:-1])} and {files[-1]}" if len(files) < 4 else f"{files[0]} to {files[-1]}"
        self.tally, self.noticed = Tally(files), Tally(files)
        for number, source in enumerate(sources):
            source.tally, source.noticed = self.tally.of_file(number), self.noticed.of_file(number)
        self.columns = sources[0].columns
        self.blank = frozenset.intersection(*(source.blank for source in sources))

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Of each source in its turn; the lines of a file are told from those of others as a tally does it."""
        for source in self._sources:
            lacking = [name for name in wanted if name not in source.columns and not isinstance(source, JsonLines)]
            if lacking:
                raise InvalidAttempts(
                    f"{source.where} has no column {lacking[0]!r}, which {self._sources[0].where} has; give files with "
                    "the same columns, or read them on their own"
                )
        for number, source in enumerate(self._sources):
            for batch in source.batches(wanted):
                yield Batch(batch.cells, batch.lines + number * A_FILE)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    first = file.read(BLOCK).removeprefix(BYTE_ORDER_MARK)
    while first:
        yield first
        first = file.read(BLOCK)


@dataclass
class SeparatedText:
    """CSV, or the like: a header, then a row a line, or over several lines where quotes say so."""

    path: str | Path
    where: str
    separator: str
    columns: tuple[str, ...]
    header_lines: int
    """Up to the end of the header."""
    blank: frozenset[str] = frozenset()
    tally: Tally = field(default_factory=Tally)
    noticed: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, path: str | Path, where: str, separator: str | None) -> SeparatedText:
        """Look at the header."""
        if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
            raise InvalidAttempts(f"separator={separator!r} is no separator; give one character, such as ';'")
        with read_errors(where), opened(path) as file:
            lines = 0
            for line in _lines_of(file):
                lines += 1
                if line.strip():
                    break
            begin = [decoded(row) for row in islice(_lines_of(file), KEYS_FROM)]
        header = decoded(line)
        by = separator or max(SEPARATORS, key=header.count)
        try:
            names = next(csv.reader([header.rstrip("\r\n")], delimiter=by))
        except csv.Error as error:
            raise CannotRead(
                f"cannot read the header of {where}: {error}; end lines with a line feed, with: tr '\\r' '\\n'"
            ) from error
        columns = tuple(name.strip() for name in names)
        return cls(path, where, by, columns, lines, _blank_in(begin, by, columns))

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Block by block; what a row needs of the next block waits for it."""
        lines_before = 0
        rest = b""
        with read_errors(self.where), opened(self.path) as file:
            for block in _blocks(file):
                rows = cut_into_rows(rest + block, self.separator, len(self.columns))
                yield from self._batch_of(rows, lines_before, wanted)
                rest = rows.rest
                lines_before += rows.lines_used
        rows = cut_into_rows(rest, self.separator, len(self.columns), at_end=True)
        yield from self._batch_of(rows, lines_before, wanted)

    def _batch_of(self, rows: Rows, lines_before: int, wanted: Sequence[str]) -> Iterator[Batch]:
        is_header = rows.first_lines + lines_before < self.header_lines
        if is_header.any():
            rows = rows.without(is_header)
        torn = [rows.torn[rows.torn + lines_before >= self.header_lines]]
        undecodable = rows.undecodable()
        if undecodable.any():
            self.noticed.add(*NO_UTF8, rows.first_lines[undecodable] + lines_before + 1)
            rows = rows.decoded()
        positions = [self.columns.index(name) for name in wanted]
        cells, not_parsed = parsed(rows, self.separator, positions, len(self.columns))
        if not_parsed.any():
            torn.append(rows.first_lines[not_parsed])
        self.tally.add(*TORN, np.concatenate(torn) + lines_before + 1)
        lines = rows.first_lines[~not_parsed] + lines_before + 1
        cells.columns = list(wanted)
        again = _is_header(cells)
        if again.any():
            self.noticed.add(*HEADER_AGAIN, lines[again])
            cells, lines = cells.filter(~again), lines[~again]
        if lines.size:
            yield Batch(cells, lines)


def _is_header(cells: pl.DataFrame) -> BoolArray:
    """Which rows have the names of the columns in them, and nothing else."""
    found = np.ones(len(cells), dtype=np.bool_)
    for name in cells.columns:
        if found.any():  # one column is enough to look at in nearly all blocks
            found &= (cells[name].str.strip_chars(' "') == name).fill_null(False).to_numpy()
    return found


def _blank_in(lines: Sequence[str], separator: str, columns: tuple[str, ...]) -> frozenset[str]:
    """Columns that have nothing in these lines, of which some may be torn."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=separator) if len(row) == len(columns)]
    except csv.Error:
        return frozenset()
    return frozenset(name for place, name in enumerate(columns) if rows and not any(row[place].strip() for row in rows))


def _lines_of(file: IO[bytes]) -> Iterator[bytes]:
    first = file.readline(LONGEST_ROW).removeprefix(BYTE_ORDER_MARK)
    while first:
        yield first
        first = file.readline(LONGEST_ROW)


@dataclass(frozen=True)
class Rows:
    """A block of text cut into rows."""

    text: bytes
    """The rows that are whole, one after the other."""
    ends: IntArray
    """Where in the text each of them ends."""
    first_lines: IntArray
    """The line of the block that each begins in; 0 is the first."""
    torn: IntArray
    """Lines of the block that belong to no row."""
    rest: bytes
    """What may go on in the next block."""
    lines_used: int
    """Of the block, those before the rest."""

    def without(self, left_out: BoolArray) -> Rows:
        """All rows but some."""
        sizes = np.diff(self.ends, prepend=0)
        text = np.frombuffer(self.text, np.uint8)[np.repeat(~left_out, sizes)].tobytes()
        kept = ~left_out
        return Rows(text, np.cumsum(sizes[kept]), self.first_lines[kept], self.torn, self.rest, self.lines_used)

    def decoded(self) -> Rows:
        """The same in UTF-8, row by row: a file may have been put together from files in different encodings."""
        begins = np.concatenate([[0], self.ends[:-1]]).tolist()
        texts = [decoded(self.text[a:b]).encode() for a, b in zip(begins, self.ends.tolist(), strict=True)]
        return replace(self, text=b"".join(texts), ends=np.cumsum([len(text) for text in texts]))

    def undecodable(self) -> BoolArray:
        """Which rows are not UTF-8; most blocks are as a whole."""
        wrong = np.zeros(len(self.ends), dtype=np.bool_)
        if _is_utf8(self.text):
            return wrong
        begin = 0
        for row, end in enumerate(self.ends.tolist()):
            wrong[row] = not _is_utf8(self.text[begin:end])
            begin = end
        return wrong


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def decoded(text: bytes) -> str:
    """As UTF-8, or else as Windows-1252, in which most text is that is not in UTF-8; what that lacks, as Latin-1.

    >>> decoded("Zürich".encode()), decoded("Zürich".encode("cp1252")), decoded(b"\\x81")
    ('Zürich', 'Zürich', '\\x81')
    """
    for encoding in ("utf-8", "cp1252"):
        try:
            return text.decode(encoding)
        except UnicodeDecodeError:
            continue
    return text.decode("latin-1")


def cut_into_rows(block: bytes, separator: str, fields: int, *, at_end: bool = False) -> Rows:
    r"""Cut text into rows with so many fields.

    A line with an odd number of quotes opens a field that goes on over lines, up to the next such line; if together
    they do not have as many fields as they should, the first of them is torn, and the second may open a field of its
    own.

    >>> rows = cut_into_rows(b'1,a,x\n2,b\n3,c,"x\ny"\n4,d,"x\n5,e,', ",", 3, at_end=True)
    >>> rows.text, rows.first_lines.tolist(), rows.torn.tolist()
    (b'1,a,x\n3,c,"x\ny"\n5,e,\n', [0, 2, 5], [1, 4])
    """
    if at_end and block and not block.endswith(b"\n"):
        block += b"\n"
    end = block.rfind(b"\n") + 1
    text, rest = block[:end], block[end:]
    codes = np.frombuffer(text, np.uint8)
    if b'"' not in text and fields > 1:
        regular = _regular_ends(codes, separator, fields)
        if regular is not None:
            lines = len(regular)
            return Rows(text, regular, np.arange(lines), np.empty(0, np.int64), rest, lines)
    ends = np.flatnonzero(codes == NEWLINE) + 1
    starts = np.concatenate([[0], ends[:-1]])[: len(ends)].astype(np.int64)
    outside, inside, is_odd = _separators_by_line(codes, separator, starts, ends)
    blank = ends - starts - (codes[np.maximum(ends - 2, starts)] == RETURN) <= 1
    begins = (outside == fields - 1) & ~is_odd & ~blank
    torn = ~begins & ~blank
    belongs = begins.copy()
    last = np.arange(len(ends))
    inside_before = np.concatenate([[0], np.cumsum(inside)])
    used = len(ends)
    odd = np.flatnonzero(is_odd).tolist()
    number = 0
    while number < len(odd):
        opener = odd[number]
        if number + 1 == len(odd):
            if not at_end and end - starts[opener] <= LONGEST_ROW:
                used = opener
            break
        closer = odd[number + 1]
        together = outside[opener] + inside_before[closer + 1] - inside_before[opener + 1]
        number += 1
        if together == fields - 1 and ends[closer] - starts[opener] <= LONGEST_ROW:
            begins[opener + 1 : closer + 1] = torn[opener : closer + 1] = False
            begins[opener] = belongs[opener : closer + 1] = True
            last[opener] = closer
            number += 1
    if used < len(ends):
        rest = text[int(starts[used]) :] + rest
        belongs[used:] = False
    first = np.flatnonzero(begins[:used])
    return Rows(
        codes[np.repeat(belongs, ends - starts)].tobytes(),
        np.cumsum(ends[last[first]] - starts[first]),
        first,
        np.flatnonzero(torn[:used]),
        rest,
        used,
    )


def _separators_by_line(
    codes: Bytes, separator: str, starts: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray, BoolArray]:
    """How many separators of each line are outside of quotes, and how many inside, if the line begins outside of them;
    and whether it has an odd number of quotes."""
    separators = np.flatnonzero(codes == ord(separator))
    quotes = np.flatnonzero(codes == QUOTE)
    line = np.searchsorted(ends, separators, side="right")
    quotes_before = np.searchsorted(quotes, np.append(starts, codes.size))
    is_outside = (np.searchsorted(quotes, separators) - quotes_before[line]) % 2 == 0
    outside = np.bincount(line[is_outside], minlength=len(ends))
    inside = np.bincount(line[~is_outside], minlength=len(ends))
    return outside, inside, np.diff(quotes_before) % 2 == 1


def _regular_ends(codes: Bytes, separator: str, fields: int) -> IntArray | None:
    """Where lines end, if every one has so many fields."""
    marks = np.flatnonzero((codes == NEWLINE) | (codes == ord(separator)))
    if len(marks) % fields:
        return None
    is_end = codes[marks].reshape(-1, fields) == NEWLINE
    if is_end[:, :-1].any() or not is_end[:, -1].all():
        return None
    return np.asarray(marks[fields - 1 :: fields] + 1)


def parsed(rows: Rows, separator: str, positions: list[int], fields: int) -> tuple[pl.DataFrame, BoolArray]:
    """The fields at these positions as text, and which rows could not be parsed and are left out of them.

    polars refuses a block with quotes in odd places as a whole; such a block is parsed row by row.
    """
    import polars as pl

    schema = {f"column_{position + 1}": pl.String for position in range(fields)}
    chosen = [f"column_{position + 1}" for position in positions]
    wrong = np.zeros(len(rows.ends), dtype=np.bool_)
    if not len(rows.ends):
        return pl.DataFrame(schema=dict.fromkeys(chosen, pl.String)), wrong
    try:
        cells = pl.read_csv(rows.text, has_header=False, separator=separator, schema=schema, columns=chosen).select(
            chosen
        )
        if len(cells) == len(rows.ends):
            return cells, wrong
    except pl.exceptions.PolarsError:
        pass
    found = []
    begin = 0
    for row, end in enumerate(rows.ends.tolist()):
        record = next(csv.reader(io.StringIO(rows.text[begin:end].decode(), newline=""), delimiter=separator), [])
        begin = end
        if len(record) == fields:
            found.append([record[position] for position in positions])
        else:
            wrong[row] = True
    return pl.DataFrame(found, schema=dict.fromkeys(chosen, pl.String), orient="row"), wrong


@dataclass
class JsonLines:
    """A JSON object a line."""

    path: str | Path
    where: str
    columns: tuple[str, ...]
    blank: frozenset[str] = frozenset()
    objects_in: str | None = None
    """A key of the objects that has a list of objects in it."""
    tally: Tally = field(default_factory=Tally)
    noticed: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, path: str | Path, where: str) -> JsonLines:
        """Look at the keys of the first lines; a key that a line does not have is blank there."""
        filled: dict[str, bool] = {}
        objects_in = None
        with read_errors(where), opened(path) as file:
            for line in islice(_lines_of(file), KEYS_FROM):
                found = _object_in(decoded(line)) or {}
                for key in _keys_of(found):
                    value = _value_in(found, key)
                    filled[key] = filled.get(key, False) or value not in (None, "")
                    if isinstance(value, list) and value and isinstance(value[0], dict):
                        objects_in = key
        blank = frozenset(key for key, is_filled in filled.items() if not is_filled)
        return cls(path, where, tuple(filled), blank, objects_in)

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Block by block, each up to its last whole line."""
        lines_before = 0
        rest = b""
        with read_errors(self.where), opened(self.path) as file:
            for block in _blocks(file):
                text = rest + block
                end = text.rfind(b"\n") + 1
                rest = text[end:]
                yield from self._batch_of(text[:end], lines_before, wanted)
                lines_before += text.count(b"\n")
        yield from self._batch_of(rest, lines_before, wanted)

    def _batch_of(self, text: bytes, lines_before: int, wanted: Sequence[str]) -> Iterator[Batch]:
        import polars as pl

        schema = dict.fromkeys(wanted, pl.String)
        if not _is_utf8(text):
            lines = text.split(b"\n")
            wrong = [place for place, line in enumerate(lines) if not _is_utf8(line)]
            self.noticed.add(*NO_UTF8, np.array(wrong, dtype=np.int64) + lines_before + 1)
            text = b"\n".join(decoded(line).encode() for line in lines)
        expected = text.count(b"\n") + (not text.endswith(b"\n")) if text else 0
        inside = any("." in name for name in wanted)  # of other objects: these are read one by one
        cells = None if inside else _json_cells(text, schema, expected)
        if cells is not None:
            yield from [Batch(cells, np.arange(expected) + lines_before + 1)] if expected else []
            return
        lines = text.split(b"\n")  # some are blank, or torn
        number = [place for place, line in enumerate(lines) if line and not line.isspace()]
        cells = None if inside else _json_cells(text, schema, len(number))
        if cells is None:
            objects = {place: _object_in(lines[place]) for place in number}
            torn = [place for place, found in objects.items() if found is None]
            self.tally.add(*NO_JSON, np.array(torn, dtype=np.int64) + lines_before + 1)
            number = [place for place in number if objects[place] is not None]
            cells = None if inside else _json_cells(b"\n".join(lines[place] for place in number), schema, len(number))
            if cells is None:  # what one parser takes and the other does not
                rows = [[_json_text(_value_in(objects[place] or {}, name)) for name in wanted] for place in number]
                cells = pl.DataFrame(rows, schema=schema, orient="row")
        if number:
            yield Batch(cells, np.array(number, dtype=np.int64) + lines_before + 1)


def _json_cells(text: bytes, schema: dict[str, Any], rows: int) -> pl.DataFrame | None:
    """The values as text, or None if a line is no object in UTF-8."""
    import polars as pl

    if not rows:
        return pl.DataFrame(schema=schema)
    try:
        cells = pl.read_ndjson(text, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    return cells if len(cells) == rows else None


def _object_in(line: bytes | str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _keys_of(found: dict[str, Any], before: str = "") -> Iterator[str]:
    """The keys of an object; those of objects inside of it come with a dot behind the key of these."""
    for key, value in found.items():
        if isinstance(value, dict):
            yield from _keys_of(value, f"{before}{key}.")
        else:
            yield before + key


def _value_in(found: dict[str, Any], name: str) -> Any:
    """By a key as above."""
    if name in found:
        return found[name]
    key, dot, rest = name.partition(".")
    inside = found.get(key)
    return _value_in(inside, rest) if dot and isinstance(inside, dict) else None


def _json_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _parquet(path: str | Path, packed: bool, where: str) -> Table:
    import polars as pl

    try:
        if not packed:
            return Table(pl.scan_parquet(path, glob=False), where)
        with read_errors(where), opened(path) as file:
            return Table(pl.read_parquet(file.read()), where)
    except pl.exceptions.PolarsError as error:
        raise CannotRead(f"cannot read {where} as Parquet: {error}; write it anew") from error


class Table:
    """A table in memory, or a Parquet file; the first row is line 1."""

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame, where: str) -> None:
        self.where = where
        self.tally, self.noticed = Tally(), Tally()
        self._frame = frame.lazy()
        self._types = self._frame.collect_schema()
        self.columns = tuple(self._types.names())
        self.blank = _blank_columns(self._frame)

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """Some rows at a time."""
        import polars as pl

        chosen = self._frame.select(as_text(name, self._types[name]) for name in wanted)
        begin = 0
        while True:
            try:
                cells = chosen.slice(begin, BATCH).collect()
            except pl.exceptions.PolarsError as error:
                raise CannotRead(f"cannot read {self.where}: {error}; write it anew") from error
            if len(cells):
                yield Batch(cells, np.arange(begin, begin + len(cells)) + 1)
            begin += BATCH
            if len(cells) < BATCH:
                return


def _blank_columns(frame: pl.LazyFrame) -> frozenset[str]:
    import polars as pl

    try:
        begin = frame.head(KEYS_FROM).collect()
    except pl.exceptions.PolarsError:  # it is said of the rows, where they are read
        return frozenset()
    return frozenset(column.name for column in begin if len(begin) and column.null_count() == len(begin))


def as_text(name: str, kind: pl.DataType) -> pl.Expr:
    """A column as text; lists as JSON has them, and times in seconds since 1970."""
    import polars as pl

    column = pl.col(name)
    if isinstance(kind, pl.List | pl.Array):
        quoted = pl.element().cast(pl.String).str.replace_all("\\", "\\\\", literal=True)
        items = column.cast(pl.List(kind.inner)).list.eval(
            pl.lit('"') + quoted.str.replace_all('"', '\\"', literal=True) + pl.lit('"')
        )
        return ("[" + items.list.join(",") + "]").alias(name)
    if kind in (pl.Datetime, pl.Date):
        return (column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6).cast(pl.String)
    return column.cast(pl.String)


def source_of(rows: Any, columns: Sequence[str] | None = None) -> Source:
    """The rows of a polars or pandas frame, or of an iterable of mappings or of tuples."""
    need_polars("reading a log")
    import polars as pl

    where = "the table"
    if isinstance(rows, pl.DataFrame | pl.LazyFrame):
        return Table(rows, where)
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):  # pandas, or what has its manners
        return Table(pl.DataFrame({str(name): _texts(rows[name].tolist()) for name in rows.columns}), where)
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise InvalidAttempts(f"{type(rows).__name__} is no table; give a frame, or an iterable of dicts or of tuples")
    listed: list[Any] = list(rows)
    if not listed:
        raise InvalidAttempts("there are no rows; give one for each attempt, or one for each request")
    if isinstance(listed[0], dict):
        names = list(dict.fromkeys(name for row in listed for name in row))
        return Table(pl.DataFrame({name: _texts([row.get(name) for row in listed]) for name in names}), where)
    names = list(columns if columns is not None else getattr(listed[0], "_fields", ()))
    wrong = next((row for row in listed if not isinstance(row, Sequence) or len(row) != len(names)), None)
    if not names or wrong is not None:
        raise InvalidAttempts(
            f"{listed[0] if wrong is None else wrong!r} is no row with the columns {names!r}; give dicts, or columns= "
            "with a name for each entry of a tuple"
        )
    by_column = zip(*listed, strict=True)
    return Table(
        pl.DataFrame({name: _texts(list(values)) for name, values in zip(names, by_column, strict=True)}), where
    )


def _texts(values: list[Any]) -> pl.Series:
    """Values of any kinds as text, and nothing where pandas or Python has nothing."""
    import polars as pl

    return pl.Series([_text(value) for value in values], dtype=pl.String)


def _text(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, list | tuple):
        return json.dumps([str(item) for item in value])
    return str(value)
