"""Evidence against an option from duels with a leader, whatever depends on what (a test supermartingale).

Write L for the leader, b for the option that is bet against. A block has, each number fixed beforehand, ``ahead`` plays
in which b is tried first and L second, ``behind`` plays in which L is first and b second, and ``leading`` plays in
which L is first, whatever comes second (the ``behind`` plays among them). Fix from the past four predictions

    m_L >= m_b    how often each succeeds when it is first,
    s_L >= s_b    how often each *rescues* a play: succeeds as second, after the other has failed,

and pool them over the block,

    t = (leading m_L + ahead m_b) / (leading + ahead),
    s = (u s_L + v s_b) / (u + v)     with u = ahead (1 - m_b), v = behind (1 - m_L).

The capital bet against "b is at least as good as L" is multiplied, for each play, by the likelihood of what it showed
under the predictions over that under the pooled ones: first by m_L/t or (1 - m_L)/(1 - t) where L was first, by m_b/t
or (1 - m_b)/(1 - t) where b was; then, if the first of the two failed, by s_L/s or (1 - s_L)/(1 - s) where L was
second, by s_b/s or (1 - s_b)/(1 - s) where b was. What a third option does after L has failed is not looked at.

Averaged over the plays of the block, the mean of this factor is exactly 1 + lean (mu_L - mu_b), whatever depends on
what, with a number lean >= 0 that the predictions give. So if mu_b >= mu_L + shift, the mean of the product over a
block of independent requests is at most (1 - lean shift)^plays; the factors are divided by that. The proof is in
``docs/duels.md``, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkedbandits.model import FloatArray

_ROUNDING = 2.0**-48
"""More than what rounding adds to a bet, against the sum of its parts' sizes."""


@dataclass(frozen=True, slots=True)
class DuelBets:
    """The logarithm of a block's factor, a linear function of what the block brings.

    ``sure`` comes in any case. The others are for each hit: of L as first, whatever the second (``leader_first``), of L
    as first with b as second (``before``, on top), of b as first (``own_first``), of L as second after b has failed
    (``leader_rescue``), and of b as second after L has failed (``own_rescue``).
    """

    sure: FloatArray
    leader_first: FloatArray
    before: FloatArray
    own_first: FloatArray
    leader_rescue: FloatArray
    own_rescue: FloatArray

    def log_factor(
        self,
        leader_first: FloatArray,
        before: FloatArray,
        own_first: FloatArray,
        leader_rescue: FloatArray,
        own_rescue: FloatArray,
    ) -> FloatArray:
        """What a block with these hits brings."""
        total = self.sure + self.leader_first * leader_first
        total += self.before * before
        total += self.own_first * own_first
        total += self.leader_rescue * leader_rescue
        total += self.own_rescue * own_rescue
        return total


def place_duel_bets(
    first: tuple[FloatArray, FloatArray],
    rescue: tuple[FloatArray, FloatArray],
    plays: tuple[FloatArray, FloatArray, FloatArray],
    shift: float = 0.0,
) -> DuelBets:
    """Bets against "b is at least ``shift`` better than L".

    ``first`` are the predictions (m_L, m_b), ``rescue`` (s_L, s_b), all strictly between 0 and 1 and the first of each
    two not below the second. ``plays`` are (leading, ahead, behind); ahead and leading have to be positive.

    >>> half, one = np.array([0.5]), np.array([1.0])
    >>> bets = place_duel_bets((half + 0.1, half - 0.1), (half + 0.2, half - 0.2), (one, one, one))
    >>> none = np.array([0.0])
    >>> float(np.exp(bets.log_factor(none, none, none, one, none)).round(6)[0])  # b and L both fail first, L rescues
    1.89372
    """
    leader, own = first
    leader_rescue, own_rescue = rescue
    leading, ahead, behind = plays
    # From the small differences themselves, so that nothing is lost where options nearly tie.
    both = leading + ahead
    lead = leader - own
    up, down = lead * (ahead / both), lead * (leading / both)
    pooled = own + down
    reached_ahead, reached_behind = ahead * (1 - own), behind * (1 - leader)
    reached = reached_ahead + reached_behind
    rescue_lead = leader_rescue - own_rescue
    rescue_up, rescue_down = rescue_lead * (reached_behind / reached), rescue_lead * (reached_ahead / reached)
    rescued = own_rescue + rescue_down

    hit_l, fail_l, hit_b, fail_b = _log_ratios(up, down, pooled)
    saved_l, lost_l, saved_b, lost_b = _log_ratios(rescue_up, rescue_down, rescued)

    leader_first, before = hit_l - fail_l, -lost_b
    own_failed = fail_b + lost_l
    leader_rescued, own_rescued = saved_l - lost_l, saved_b - lost_b
    sure = leading * fail_l + ahead * own_failed + behind * lost_b
    # What rounding may have added is taken off, so that the factor is never more than it should be.
    sizes = leading * leader_first + ahead * (fail_b - hit_b + leader_rescued) - behind * own_rescued
    sizes *= _ROUNDING
    sure -= sizes
    if shift > 0:
        # By how much the mean of the factor exceeds 1 on requests on which L succeeds and b fails.
        gain = leading * (up / pooled) + ahead * ((1 + rescue_up / rescued) * (1 + down / (1 - pooled)) - 1)
        sure -= both * np.log1p(-shift * (1 - _ROUNDING) * (gain / both))
    return DuelBets(
        sure=sure,
        leader_first=leader_first,
        before=before,
        own_first=hit_b - fail_b - lost_l,
        leader_rescue=leader_rescued,
        own_rescue=own_rescued,
    )


def _log_ratios(
    up: FloatArray, down: FloatArray, pooled: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Logarithms of a hit's and of a failure's likelihood over the pooled ones: of L, then of b."""
    failing = 1 - pooled
    return np.log1p(up / pooled), np.log1p(-up / failing), np.log1p(-down / pooled), np.log1p(down / failing)
