"""Which face-recognition service works most often? Read from a log of what was tried, without an experiment.

The log is made from real outcomes on 6,358 pictures (their sources: benchmarks/data/README.md). Needs the extra
`study`, for polars.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import linkedbandits as lb

here = Path(__file__).resolve().parents[1]
with tempfile.TemporaryDirectory() as folder:
    log = Path(folder, "attempts.csv")
    table = here.parent / "benchmarks" / "data" / "face-apis.csv"
    subprocess.run([sys.executable, here / "replay_log.py", table, log], check=True, capture_output=True)
    report = lb.read_attempts(log).verdict(delta=0.05)

print(report.sentence)

figure, axes = plt.subplots(figsize=(6, 2.4), layout="constrained")
for row, each in enumerate(sorted(report.estimates, key=lambda estimate: estimate.mean)):
    colour = "#009e73" if each.option == report.verdict.arm else "#666666"
    axes.plot([each.low, each.high], [row, row], color=colour, linewidth=3)
    axes.plot(each.mean, row, "o", color=colour, markersize=9)
    axes.annotate(f"{each.option}  {each.mean:.1%}", (each.mean, row), (0, 9), textcoords="offset points", ha="center")
axes.set(yticks=[], ylim=(-0.5, 3.7), xlabel="share of pictures on which it works, tried first, with 95 % limits")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "from-a-log.png", dpi=200)
