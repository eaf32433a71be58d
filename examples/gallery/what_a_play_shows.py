"""One try shows several options, and hides those behind the first that works.

Each column is a play: some of the four options are tried from top to bottom until one works. Those below it stay
unseen, and so do those that the policy leaves out. The experiment stops by itself when it is sure which option is best.
(LinkedElimination assumes independent options; if yours fail together, use LinkedDuels: docs/which-policy.md.)
"""

import random
import sys

import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import linkedbandits as lb

works = {"north": 0.15, "east": 0.50, "south": 0.25, "west": 0.10}  # what only nature knows
arms = list(works)
random.seed(4)

exp = lb.Experiment(arms, lb.LinkedElimination(delta=0.05))
columns = []
while not exp.done:
    play = exp.ask()
    hit = next((arm for arm in play.arms if random.random() < works[arm]), None)
    exp.tell(play.id, hit)
    seen = play.arms[: play.arms.index(hit) + 1] if hit else play.arms
    columns.append([2 if arm == hit else 1 if arm in seen else 0 for arm in arms])

verdict = exp.recommend()
print(f"{verdict.arm} is best, after {verdict.plays} plays; wrong with probability at most {verdict.error_bound}")

shown = columns[:60]
colours = {"not seen": "#e8e8e8", "failed": "#d55e00", "worked": "#009e73"}
figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
axes.pcolormesh(
    list(zip(*shown, strict=True)), cmap=ListedColormap(list(colours.values())), vmin=0, vmax=2, edgecolor="white"
)
axes.set(yticks=[row + 0.5 for row in range(len(arms))], yticklabels=arms, xlabel=f"the first {len(shown)} plays")
axes.invert_yaxis()
axes.legend(
    handles=[Patch(color=c, label=w) for w, c in colours.items()], ncols=3, loc="lower left", bbox_to_anchor=(0, 1)
)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "what-a-play-shows.png", dpi=200)
