"""How many plays do policies take, and how few could it be?

Ten options, one of which works 10 % of the time and nine 5 %: the paper's scenario. Nothing is played: runs are drawn
exactly. (All four policies assume independent options; LinkedDuels does not: docs/which-policy.md.)
"""

import sys

import matplotlib.pyplot as plt

import linkedbandits as lb

means = lb.scenarios.one_sparse(10)
deltas = [0.2, 0.1, 0.05, 0.01, 1e-3, 1e-4]
policies = {
    "uniform sampling (the paper)": lambda delta: lb.UniformSampling(delta=delta),
    "LinkedEGE (the paper, told the gap)": lambda delta: lb.LinkedEGE(delta, gap=0.05),
    "LinkedElimination (this library)": lb.LinkedElimination,
    "LinkedLead (told the odds ratio)": lambda delta: lb.LinkedLead(delta, odds_ratio=2.1),
}

figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
colours = ("#e69f00", "#cc79a7", "#0072b2", "#009e73")
for (name, policy), marker, colour in zip(policies.items(), "s^oD", colours, strict=True):
    plays = [lb.simulate(means, policy(delta), trials=200, seed=7).plays.mean() for delta in deltas]
    axes.loglog(deltas, plays, marker=marker, color=colour, label=name)
    print(f"{name}: {plays[1]:,.0f} plays at delta 0.1")
axes.loglog(
    deltas, [lb.bounds.lower(means, delta) for delta in deltas], "k:", label="no policy can beat this, told nothing"
)
axes.invert_xaxis()
axes.set(xlabel="delta: how often the answer may be wrong", ylabel="mean plays")
axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "policies-compared.png", dpi=200)
