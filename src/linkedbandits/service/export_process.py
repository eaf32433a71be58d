"""A journal written by a process of its own, so that those who play do not wait for it.

    python -m linkedbandits.service.export_process < ORDER > FILE

The order comes by the standard input, since the address of a store may have a password in it. Who runs it reads what it
writes, and kills it if that is no longer wanted: it holds no lock, and a connection to the store only while it reads.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import closing
from typing import IO, Any

from linkedbandits.errors import LinkedBanditError
from linkedbandits.service.exporting import journal_lines, write_parquet
from linkedbandits.service.store import Store, open_store

NICE = 10
"""How far it stands back behind those who play, where processor time is short."""
FAILED = 1


def write_journal(store: Store, experiment: str, form: str, file: IO[bytes]) -> None:
    """The journal of an experiment as ``"jsonl"`` or ``"parquet"``, into a file or a pipe."""
    if form == "parquet":
        write_parquet(store, experiment, file)
    else:
        for text in journal_lines(store, experiment):
            file.write(text.encode())
    file.flush()


def carry_out(order: dict[str, Any], file: IO[bytes]) -> None:
    """Write what is ordered."""
    with closing(open_store(order["store"], as_it_is=True)) as store:
        write_journal(store, order["experiment"], order["form"], file)


def main() -> None:
    """Carry out the order on the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends this process, too
    if hasattr(signal, "SIGPIPE"):  # Windows has neither
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody reads any more: end at once
    if hasattr(os, "nice"):
        os.nice(NICE)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    try:
        carry_out(json.load(sys.stdin), sys.stdout.buffer)
    except LinkedBanditError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
