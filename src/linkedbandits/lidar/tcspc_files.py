"""Lists of single photons, as time-correlated photon counters write them: each with its laser cycle and its time.

``.ptu`` is PicoQuant's format, read by ``ptufile``: a point, or an image from a scanner. ``.out`` is a list of
HydraHarp records in T3 mode without a header, as the captures of the University of Wisconsin are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.errors import CannotRead, InvalidParameter, LinkedBanditError
from linkedbandits.lidar.photon_files import AnyArray, Complaints, need
from linkedbandits.lidar.time_stamps import Schedule, TimeStamps
from linkedbandits.model import IntArray

_SYNC_BITS = 10
_TIME_BITS = 15
_CHANNEL_BITS = 6
_OVERFLOW = 63
"""The channel of a special record that says: the counter of cycles has run over, as often as its own count says."""


def read_records(path: Path) -> tuple[IntArray, IntArray]:
    """The cycle and the tick of each photon of a headerless list of HydraHarp T3 records.

    A record has 32 bits, from the highest: special, channel (6), time in ticks (15), count of cycles (10), which runs
    over every 1,024. Other special records are markers, and are not used here.
    """
    try:
        size = path.stat().st_size
        if size % 4:
            raise CannotRead(f"{path} has {size:,} bytes, which are no records of 4; it is cut short: copy it again")
        records: AnyArray = np.fromfile(path, dtype="<u4")
    except OSError as error:
        if isinstance(error, LinkedBanditError):
            raise
        raise CannotRead(f"{path} cannot be read ({error.strerror}); name a file that is there") from error
    count = (records & (2**_SYNC_BITS - 1)).astype(np.int64)
    tick = ((records >> _SYNC_BITS) & (2**_TIME_BITS - 1)).astype(np.int64)
    channel = (records >> (_SYNC_BITS + _TIME_BITS)) & (2**_CHANNEL_BITS - 1)
    special = (records >> (_SYNC_BITS + _TIME_BITS + _CHANNEL_BITS)) == 1
    overflow = special & (channel == _OVERFLOW)
    rounds = np.cumsum(np.where(overflow, np.maximum(count, 1), 0))  # an older record says 0 and means once
    photon = ~special
    return (rounds[photon] << _SYNC_BITS) + count[photon], tick[photon]


def read_ptu(path: Path, channel: int | None, cycles: int | None, shape: tuple[int, int] | None) -> TimeStamps:
    """The stamps of a PTU file in T3 mode: of a point, or of an image whose lines have markers."""
    ptufile = need("ptufile", f"reading {path}")
    complaints = Complaints()
    try:
        with complaints.of("ptufile"), ptufile.PtuFile(path) as ptu:
            stamps = _stamps(path, ptu, channel, cycles, shape)
        if complaints.said:  # it goes on with the records that are there
            raise ValueError(complaints.said[0])
    except LinkedBanditError:
        raise
    except Exception as error:  # what it raises at broken files has no common type
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CannotRead(f"{path} cannot be read ({said}); it may be cut short: export or copy it again") from error
    return stamps


def _stamps(path: Path, ptu: Any, channel: int | None, cycles: int | None, shape: tuple[int, int] | None) -> TimeStamps:
    source = str(path)
    if not ptu.is_t3:
        raise CannotRead(f"{path} is in T2 mode, which has no laser cycles; record it in T3 mode")
    records = ptu.decode_records()
    time = records["time"].astype(np.int64)
    photon = records["channel"] >= 0
    seen = np.unique(records["channel"][photon]).tolist()
    if not seen:
        raise InvalidParameter(f"{source}: there is not one photon in it; look whether the laser was on")
    if channel is None:
        if len(seen) > 1:
            raise CannotRead(f"{path} has photons of channels {', '.join(map(str, seen))}; choose one with --channel")
        channel = seen[0]
    if channel not in seen:
        raise CannotRead(f"{path} has no photon of channel {channel}; it has channels {', '.join(map(str, seen))}")
    photon &= records["channel"] == channel
    if ptu.is_image:
        schedule, size = _scan(path, ptu, time, records, shape)
        if cycles is not None:
            raise InvalidParameter(f"{source}: a scan says its own laser cycles; leave --cycles out")
    else:
        last = int(time.max()) + 1
        if cycles is not None and cycles < last:
            raise InvalidParameter(
                f"{source}: it has {last:,} laser cycles, more than the {cycles:,} given; leave --cycles out"
            )
        schedule = Schedule(*(np.array([number]) for number in (0, cycles or last, 0)))
        size = (1, 1)
    return TimeStamps(
        cycle=time[photon],
        tick=records["dtime"][photon].astype(np.int64),
        schedule=schedule,
        shape=size,
        tick_seconds=float(ptu.tcspc_resolution),
        ticks=int(ptu.number_bins_in_period),
        period=float(ptu.global_resolution),
        source=source,
    )


def _scan(
    path: Path, ptu: Any, time: IntArray, records: Any, shape: tuple[int, int] | None
) -> tuple[Schedule, tuple[int, int]]:
    """Which cycles were spent at which pixel: lines begin at markers, and pixels of a line last equally long."""
    if ptu.is_bidirectional or ptu.is_sinusoidal:
        raise CannotRead(
            f"{path} was scanned to and fro or with a sine; scan lines in one direction, at constant speed"
        )
    rows, columns = (ptu.lines_in_frame, ptu.pixels_in_line) if shape is None else shape
    begins = ((records["marker"] & ptu.line_start_mask) > 0) & (records["channel"] < 0)
    start = time[begins]
    if not start.size or start.size % rows:
        raise CannotRead(f"{path} has {start.size:,} lines, which are no whole images of {rows}; export whole images")
    stay = int(ptu.global_pixel_time)
    pixel = np.arange(start.size) % rows * columns
    first = start[:, np.newaxis] + stay * np.arange(columns)
    if (first[1:, 0] < first[:-1, -1] + stay).any():
        raise CannotRead(f"{path} has lines shorter than {columns} pixels of {stay} cycles; give the right --shape")
    return (
        Schedule(first.reshape(-1), np.full(first.size, stay), (pixel[:, np.newaxis] + np.arange(columns)).reshape(-1)),
        (rows, columns),
    )
