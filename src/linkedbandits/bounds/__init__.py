"""What a play is worth: its price in samples, what no policy can beat, and the paper's bounds, as functions.

>>> from linkedbandits import bounds
>>> float(bounds.play_cost([100, 100, 100], [0.1, 0.3, 0.2]))
140.0
>>> round(bounds.lower([0.1, 0.3, 0.2], delta=0.05))
244
"""

from linkedbandits.bounds.characteristic import CharacteristicTime, characteristic_time
from linkedbandits.bounds.cost import PlayCost, load, play_cost
from linkedbandits.bounds.expectation import ExpectedPlays, expected_plays
from linkedbandits.bounds.for_policy import BoundAsTold, lower_as_told
from linkedbandits.bounds.joint import JointBound, lower_joint
from linkedbandits.bounds.lower_bound import lower
from linkedbandits.bounds.order import PriceOfOrder, price_of_order
from linkedbandits.bounds.published import Improvement, PaperBounds, corollary_in_kl, log_log_rate, paper

__all__ = [
    "BoundAsTold",
    "CharacteristicTime",
    "ExpectedPlays",
    "Improvement",
    "JointBound",
    "PaperBounds",
    "PlayCost",
    "PriceOfOrder",
    "characteristic_time",
    "corollary_in_kl",
    "expected_plays",
    "load",
    "log_log_rate",
    "lower",
    "lower_as_told",
    "lower_joint",
    "paper",
    "play_cost",
    "price_of_order",
]
