"""Reading a log of ten million attempts, against a plain count of successes by option in the same file.

Each measurement is a process of its own, for the most memory that a process has held is never less again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ATTEMPTS = 10_000_000
OPTIONS = 8
LIMIT_RATIO, LIMIT_GB = 8, 2

MEASURE = """
import re, sys, time
from pathlib import Path
{work}
seconds, of_cores = time.perf_counter() - begun, time.process_time() - of_cores
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**20
print(seconds, of_cores, peak)
"""
PLAIN = """
import polars as pl
begun, of_cores = time.perf_counter(), time.process_time()
pl.scan_csv(sys.argv[1]).group_by("option").agg(pl.len(), pl.col("success").sum()).collect(engine="streaming")
"""
READING = """
import polars, linkedbandits as lb
lb.read_attempts
begun, of_cores = time.perf_counter(), time.process_time()
log = lb.read_attempts(sys.argv[1])
assert len(log) == int(sys.argv[2]) and not log.set_aside, (log, log.set_aside)
"""


def main() -> None:
    print(f"{ATTEMPTS:,} attempts of {OPTIONS} options (limits: {LIMIT_RATIO} times the plain count, {LIMIT_GB} GB)")
    with tempfile.TemporaryDirectory() as folder:
        for name, interleaved in (("one after the other", False), ("32 at a time", True)):
            path = Path(folder) / "log.csv"
            write_log(path, ATTEMPTS, interleaved)
            plain, plain_cores, plain_memory = measured(PLAIN, path)
            reading, cores, memory = measured(READING, path)
            print(
                f"  requests {name}, {path.stat().st_size / 1e6:.0f} MB: read in {reading:.1f} s and {memory:.2f} GB; "
                f"plain count {plain:.1f} s and {plain_memory:.2f} GB; ratio {reading / plain:.1f} "
                f"({cores / plain_cores:.1f} of time on cores, which other work does not change)",
                flush=True,
            )


def write_log(path: Path, attempts: int, interleaved: bool) -> None:
    """Requests of one to four attempts, the last of which has worked unless it is the fourth."""
    import polars as pl

    random = np.random.default_rng(1)
    sizes = np.minimum(random.geometric(0.5, attempts * 3 // 5), 4)
    request = np.repeat(np.arange(sizes.size), sizes)[:attempts]
    place = np.arange(request.size) - np.searchsorted(request, request)
    is_last = np.append(request[1:] != request[:-1], True)
    success = is_last & ((place < 3) | (random.random(request.size) < 0.5))
    option = (random.integers(0, OPTIONS, sizes.size)[request] + place) % OPTIONS
    table = pl.DataFrame({"request": request, "option": option, "success": success.astype(np.int8)})
    if interleaved:
        turn = request // 32 * 256 + place * 32 + request % 32
        table = table[np.argsort(turn, kind="stable")]
    table.with_columns(
        request=pl.lit("req-") + pl.col("request").cast(pl.String).str.zfill(12),
        option=pl.lit("provider-") + pl.col("option").cast(pl.String),
    ).write_csv(path)


def measured(work: str, path: Path) -> tuple[float, float, float]:
    """Seconds, seconds of all cores together, and gigabytes; without the time that it takes to import."""
    command = [sys.executable, "-c", MEASURE.format(work=work), str(path), str(ATTEMPTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    seconds, of_cores, memory = map(float, done.stdout.split())
    return seconds, of_cores, memory
