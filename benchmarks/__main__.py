"""``python -m benchmarks [section ...]``: print the measured claims."""

from __future__ import annotations

import sys
from importlib import import_module

from linkedbandits.signals import ended_with_a_line, what_is_kept

# A section is imported when it runs: some need packages that others do not.
SECTIONS = {
    "import-time": "import_time:main",
    "demo": "demo:main",
    "simulation": "simulation_cost:main",
    "compiled-simulation": "compiled_simulation:main",
    "ask-tell": "ask_tell:main",
    "sorting": "sorting:main",
    "bounds": "bounds:main",
    "scale": "scale:main",
    "economy": "economy:main",
    "linkages": "economy:other_linkages",
    "against": "economy:against_the_paper",
    "field": "field:main",
    "told": "told:main",
    "halving": "halving:main",
    "validity": "validity:main",
    "validity-beyond": "validity:report_beyond",
    "validity-rules": "validity:report_rules",
    "truth": "truth:main",
    "commit-before": "commit_before:main",
    "real": "real:main",
    "real-order": "real:order",
    "duels": "duels:main",
    "attempts": "attempts:main",
    "logs": "logs:main",
    "logs-validity": "logs:validity",
    "logs-economy": "logs:economy",
    "logs-real": "logs:real",
    "alarms": "alarms:main",
    "studies": "studies:main",
    "workers": "workers:main",
    "worker-kills": "workers:kills",
    "lidar": "lidar:main",
    "lidar-grid": "lidar_grid:main",
    "lidar-validity": "lidar:validity",
    "lidar-speed": "lidar:speed",
    "lidar-scenes": "lidar_sensors:main",
    "lidar-edges": "lidar_sensors:edges",
    "lidar-dead-times": "lidar_sensors:dead_times",
    "lidar-equal-time": "lidar_sensors:equal_time",
    "lidar-sure": "lidar_sensors:validity",
    "lidar-two-returns": "lidar_sensors:two_returns",
    "lidar-peers": "lidar_peers:main",
    "lidar-capture": "lidar_capture:main",
    "gpu": "gpu:main",
    "engines": "engines:main",
    "lost-answers": "lost_answers:main",
    "lost-answers-validity": "lost_answers:only_validity",
    "chain": "chain:main",
    "chain-kills": "chain:kills",
    "chain-verdicts": "chain:verdicts",
    "chain-servers": "chain_servers:main",
    "chain-change": "chain_change:main",
    "chain-order": "chain_order:main",
    "service-store": "service_store:main",
    "nothing-lost": "nothing_lost:main",
    "nothing-lost-http": "nothing_lost:over_http",
    "service-http": "service_http:main",
    "service-attacks": "service_attacks:main",
    "service-million": "service_http:million",
    "service-growth": "service_growth:main",
    "service-growth-kills": "service_growth:kills",
    "service-attacks-by-token": "service_attacks_by_token:main",
    "service-list": "service_list:main",
    "service-viewers": "service_viewers:main",
    "service-schema": "service_schema:main",
}


def main() -> None:
    with ended_with_a_line():
        run_sections()


def run_sections() -> None:
    names = sys.argv[1:] or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"unknown section {unknown[0]!r}; choose from {', '.join(SECTIONS)}")
    for name in names:
        module, function = SECTIONS[name].split(":")
        with what_is_kept(f"figures printed so far stand; go on with: make bench SECTION={name}"):
            print(f"\n== {name} ==", flush=True)
            getattr(import_module(f"benchmarks.{module}"), function)()


if __name__ == "__main__":  # worker processes import this module again
    main()
