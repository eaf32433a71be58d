"""Reading a log of ten million attempts, and deciding, against a plain count of successes by option in the same file.

Claims: to read it and to have its report takes at most 15 times what polars takes to read and group the file, and less
than 2 GB. The claim is about the time on all cores together, which other work hardly changes; the ratio of the time on
the clock is marked where it is over, and no more. ``ATTEMPTS=1000000`` makes a smaller log.

Each measurement is a process of its own, for the most memory that a process has held is never less again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tools.claims import Claims, mark_over

ATTEMPTS = int(os.environ.get("ATTEMPTS", "10000000"))
OPTIONS = 8
LIMIT_RATIO, LIMIT_GB = 15, 2

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
READ = """
import polars, linkedbandits as lb
lb.read_attempts
begun, of_cores = time.perf_counter(), time.process_time()
log = lb.read_attempts(sys.argv[1])
assert len(log) == int(sys.argv[2]) and not log.set_aside, (log, log.set_aside)
"""
DECIDED = f"""
import linkedbandits as lb
lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "a")] * 9).verdict()  # imports what a verdict needs
{READ}
log.verdict()
"""


def main() -> None:
    claims = Claims()
    print(f"{ATTEMPTS:,} attempts of {OPTIONS} options (limits: {LIMIT_RATIO} times the plain count, {LIMIT_GB} GB)")
    with tempfile.TemporaryDirectory() as folder:
        for name, interleaved in (("one after the other", False), ("32 at a time", True)):
            path = Path(folder) / "log.csv"
            write_log(path, ATTEMPTS, interleaved)
            plain, plain_cores, plain_memory = measured(PLAIN, path)
            print(
                f"  requests {name}, {path.stat().st_size / 1e6:.0f} MB: plain count in {plain:.1f} s and "
                f"{plain_memory:.2f} GB",
                flush=True,
            )
            for what, work in (("read", READ), ("read and decided", DECIDED)):
                seconds, cores, memory = measured(work, path)
                ratio, on_cores = seconds / plain, cores / plain_cores
                print(
                    f"    {what} in {seconds:.1f} s and {memory:.2f} GB; ratio of time on cores {on_cores:.1f}, on the "
                    f"clock {ratio:.1f}{mark_over(ratio, LIMIT_RATIO)}",
                    flush=True,
                )
                claims.check(
                    on_cores <= LIMIT_RATIO, f"requests {name}: {what} in {on_cores:.1f} times the plain count"
                )
                claims.check(memory < LIMIT_GB, f"requests {name}: {what} takes {memory:.2f} GB")
    claims.report()


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
