"""``python -m benchmarks [section ...]``: print the measured claims."""

from __future__ import annotations

import sys

from benchmarks import ask_tell, economy, paper_claims, scale, simulation_cost, sorting, theory, validity

SECTIONS = {
    "simulation": simulation_cost.main,
    "ask-tell": ask_tell.main,
    "sorting": sorting.main,
    "paper": paper_claims.main,
    "theory": theory.main,
    "scale": scale.main,
    "economy": economy.main,
    "linkages": economy.other_linkages,
    "against": economy.against_the_paper,
    "validity": validity.main,
    "validity-beyond": validity.report_beyond,
}


def main() -> None:
    names = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"unknown section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    for name in names:
        print(f"\n== {name} ==", flush=True)
        SECTIONS[name]()


main()
