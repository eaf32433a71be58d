"""Options that fail together: one policy is confident and wrong, the other is not.

The best of five options stands last. The more requests are hard for all of them, the more often LinkedElimination,
which assumes independent options, names another one. LinkedDuels assumes nothing. See docs/which-policy.md.
"""

import sys

import matplotlib.pyplot as plt

import linkedbandits as lb

means = [0.55, 0.5, 0.45, 0.5, 0.65]
correlations = [0.0, 0.15, 0.3, 0.45, 0.6, 0.75]
policies = {
    "LinkedElimination, in order": (lb.LinkedElimination(delta=0.05), "ordered", "#0072b2"),
    "LinkedDuels": (lb.LinkedDuels(delta=0.05), "free", "#d55e00"),
}

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for (name, (policy, linkage, colour)), marker in zip(policies.items(), "so", strict=True):
    wrong = []
    for correlation in correlations:
        world = lb.SharedDifficulty(means, correlation)
        runs = lb.simulate(means, policy, linkage=linkage, world=world, trials=100, max_plays=20_000, seed=1)
        wrong.append(100 * runs.error_rate())
    axes.plot(correlations, wrong, marker=marker, color=colour, label=name)
    print(f"{name}: wrong in {', '.join(f'{share:.0f}' for share in wrong)} % of the runs")
axes.axhline(5, color="black", linestyle=":", label="what delta allows")
axes.set(xlabel="correlation of the options' failures", ylabel="wrong answers (%)")
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "fail-together.png", dpi=200)
