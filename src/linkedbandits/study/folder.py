"""The folder that a study's results last in.

    study.json                  the resolved study: every cell with its means and parameters, seed, library version
    lock                        held by the run that writes here
    chunks/CELL/FIRST-STOP.DIGEST.parquet      the trials FIRST to STOP - 1 of a cell

A chunk's file appears whole or not at all: it is written under another name, brought to the disk, and renamed. The
digest of its content is in its name, so that one that was damaged later is found out.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from linkedbandits.durable_files import put_in_place, try_lock
from linkedbandits.errors import CannotWrite, DamagedSave, InvalidStudy, why_not
from linkedbandits.streams import block_lanes
from linkedbandits.study.cells import Study, check_names
from linkedbandits.version import __version__

if TYPE_CHECKING:
    import polars as pl

_CELL_KEYS = ("key", "instance", "family", "means", "label", "policy", "linkage", "delta", "trials")
_CHUNK_NAME = re.compile(r"(\d+)-(\d+)\.([0-9a-f]{16})\.parquet")


class ChunkFile(NamedTuple):
    """A finished chunk on the disk."""

    path: Path
    lanes: range
    digest: str

    def content(self) -> bytes:
        """The file's bytes, or an error if they are not those that were written."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise DamagedSave(
                f"{self.path} cannot be read: {why_not(error)}; run the study again, and only this chunk is run anew",
                reason="damaged_results",
            ) from error
        if _digest(content) != self.digest:
            raise DamagedSave(
                f"{self.path} is damaged; run the study again, and only this chunk is run anew",
                reason="damaged_results",
            )
        return content


class ResultsFolder:
    """A study's results on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def _resolved(self) -> Path:
        return self.path / "study.json"

    def resolved(self) -> dict[str, Any]:
        """The resolved study that the folder belongs to."""
        try:
            content: dict[str, Any] = json.loads(self._resolved.read_text(encoding="utf-8"))
            for key in ("name", "seed", "library"):
                content[key]
            for cell in content["cells"]:
                for key in _CELL_KEYS:
                    cell[key]
        except (FileNotFoundError, NotADirectoryError):
            raise DamagedSave(
                f"{self.path} has no study.json, so it is no folder of a study's results; name one like mine-results",
                reason="damaged_results",
            ) from None
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise DamagedSave(
                f"{self._resolved} cannot be read ({error!r}); restore it from a copy, or remove it and run the study "
                "again: finished chunks are kept",
                reason="damaged_results",
            ) from error
        return content

    def adopt(self, study: Study, *, merge: bool) -> None:
        """Make the folder this study's, or refuse because it is another's."""
        self._write(self._resolved, json.dumps(self.reconcile(study, merge=merge), indent=1).encode("utf-8"))

    def reconcile(self, study: Study, *, merge: bool) -> dict[str, Any]:
        """What the resolved study would be with this one in it; a refusal if it is another's."""
        wanted = {
            "name": study.name,
            "seed": study.seed,
            "library": __version__,
            "cells": [cell.to_json() for cell in study.cells],
        }
        if self._resolved.exists():
            wanted["cells"] = _reconciled(self.path, self.resolved(), wanted, merge)
        return wanted

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out while this one writes; the system lets go of the lock when the process ends."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a")  # it stays empty: all lock its first byte
        except OSError as error:
            raise CannotWrite(
                f"results cannot be kept in {self.path}: {why_not(error)}; choose a folder you may write to with --out"
            ) from error
        with lock:
            if not try_lock(lock.fileno()):
                raise InvalidStudy(
                    f"another run is writing to {self.path}; wait for it, or use another folder",
                    reason="results_in_use",
                )
            yield

    def chunks(self, cell: str) -> list[ChunkFile]:
        """The finished chunks of a cell, in the order of their trials."""
        found = []
        for path in (self.path / "chunks" / cell).glob("*.parquet"):
            match = _CHUNK_NAME.fullmatch(path.name)
            if match:
                found.append(ChunkFile(path, range(int(match[1]), int(match[2])), match[3]))
        return sorted(found, key=lambda chunk: chunk.lanes.start)

    def ranges(self, cell: str, trials: int, arms: int) -> list[range]:
        """Finished trials of a cell with ``trials`` trials, without the half blocks of an earlier, shorter study."""
        block = block_lanes(arms)
        return [
            chunk.lanes for chunk in self.chunks(cell) if chunk.lanes.stop % block == 0 or chunk.lanes.stop == trials
        ]

    def sound_chunks(self, cell: str, trials: int, block: int) -> tuple[list[range], list[Path]]:
        """What need not be run again, and the files that were set aside because they are damaged.

        A chunk that ended inside a block, because the study then had fewer trials, is of no use to a longer one.
        """
        sound, damaged = [], []
        for chunk in self.chunks(cell):
            try:
                chunk.content()
            except DamagedSave:
                aside = chunk.path.with_suffix(".damaged")
                with _clear_message(chunk.path):
                    chunk.path.rename(aside)
                damaged.append(aside)
                continue
            if chunk.lanes.stop % block and chunk.lanes.stop != trials:
                with _clear_message(chunk.path):
                    chunk.path.unlink()
                continue
            sound.append(chunk.lanes)
        return sound, damaged

    def write_chunk(self, cell: str, lanes: range, table: pl.DataFrame) -> None:
        """Keep a finished chunk."""
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        content = buffer.getvalue()
        name = f"{lanes.start}-{lanes.stop}.{_digest(content)}.parquet"
        self._write(self.path / "chunks" / cell / name, content)

    def _write(self, path: Path, content: bytes) -> None:
        """Whole or not at all, whatever happens to the process or the machine."""
        unfinished = path.with_name(f".{path.name}.unfinished")
        with _clear_message(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                unfinished.write_bytes(content)
                put_in_place(unfinished, path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise


@contextmanager
def _clear_message(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotWrite(
            f"{path} cannot be written: {why_not(error)}; every finished chunk is kept: make room, and run the study "
            "again"
        ) from error


def _reconciled(path: Path, there: dict[str, Any], wanted: dict[str, Any], merge: bool) -> list[dict[str, Any]]:
    """The cells that the folder has after this run, or a refusal that says what changed."""
    # What differs in these cannot be told apart by the names of cells.
    for what in ("seed", "library"):
        if there[what] != wanted[what]:
            raise InvalidStudy(
                f"{path} has results with {what} {there[what]}, and this run has {wanted[what]}; use another folder",
                reason="results_mismatch",
            )
    old = {cell["key"]: cell for cell in there["cells"]}
    new = {cell["key"]: cell for cell in wanted["cells"]}
    fewer = [key for key in old.keys() & new.keys() if new[key]["trials"] < old[key]["trials"]]
    if fewer:
        raise InvalidStudy(
            f"{path} has more trials of {fewer[0]} than are wanted now; "
            f"ask for at least {old[fewer[0]]['trials']}, or use another folder",
            reason="results_mismatch",
        )
    if old == new or merge:
        together = list((old | new).values())
        try:
            check_names(together)
        except InvalidStudy as error:
            raise InvalidStudy(f"{path} cannot take this study in: {error}", reason="results_mismatch") from error
        return together
    more = sum(new[key]["trials"] > old[key]["trials"] for key in old.keys() & new.keys())
    raise InvalidStudy(
        f"{path} belongs to a study that differs from this one: {len(new.keys() - old.keys())} cells are new, "
        f"{len(old.keys() - new.keys())} are gone, {more} have more trials; pass --merge to keep all of them together "
        "by name, or use another folder",
        reason="results_mismatch",
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
