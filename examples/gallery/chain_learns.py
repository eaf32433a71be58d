"""A fallback chain that finds out, as it serves, which gateway should be tried first.

Every call is served as by the loop that it replaces; what changes is how many attempts fail before one works. (Chains
assume nothing of how their options fail together.)
"""

import random
import sys

import matplotlib.pyplot as plt

import linkedbandits as lb

random.seed(3)
works = {"old": 0.5, "cheap": 0.7, "new": 0.85}  # what only nature knows


def gateway(share):  # stands for a call that may fail
    def pay(order):
        if random.random() > share:
            raise ConnectionError
        return f"paid {order}"

    return pay


chain = lb.Chain({name: gateway(share) for name, share in works.items()}, delta=0.05)
failed, verdict_at = [0], None
for number in range(1000):
    try:
        in_vain = len(chain(f"order {number}").tried) - 1
    except lb.ChainFailed as all_failed:
        in_vain = len(all_failed.tried)
    failed.append(failed[-1] + in_vain)
    if verdict_at is None and chain.verdict() is not None:
        verdict_at = len(failed)

old, cheap, new = (1 - share for share in works.values())
a_call = old * (1 + cheap * (1 + new))  # what a loop over old, cheap and new pays
print(
    f"{chain.order[0]} goes first after {verdict_at} calls; {failed[-1]} failed attempts, {a_call * 1000:.0f} in order"
)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot([0, 1000], [0, 1000 * a_call], color="#666666", linestyle="--", label="a loop in the order given")
axes.plot(failed, color="#0072b2", label="the chain")
axes.axvline(verdict_at, color="#d55e00", linestyle=":", label="it is sure which is best")
axes.set(xlabel="calls served", ylabel="failed attempts in all")
axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "chain-learns.png", dpi=200)
