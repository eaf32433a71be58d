"""What is claimed of verdicts, logs, chains, recovery and depth, each figure beside what it was before it was mended.

``make bench SECTION=truth`` takes some ten minutes; ``ONLY=chain`` runs a part alone. The part on PostgreSQL needs its
programs and pgbouncer.
"""

from __future__ import annotations

import os
from importlib import import_module

from tools.claims import Claims, print_rows

PARTS = ("core", "logs", "chain", "recovery", "postgres", "depth")


def main() -> None:
    """Every part after the other; in the end, which claims did not hold."""
    claims = Claims()
    for part in (part for part in PARTS if part.startswith(os.environ.get("ONLY", ""))):
        print(f"\n{part}", flush=True)
        print_rows(claims, import_module(f"benchmarks.truth_{part}").MEASURES)
    claims.report()
