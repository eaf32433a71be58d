"""What a policy takes for granted, in sentences for those who use it.

A verdict is worth what its policy assumes. A policy declares that with :meth:`linkedbandits.policy.Policy.assumptions`,
and the command line, verdicts, the live service and its page say it in these words and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from linkedbandits.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that has to hold of the options, or the answer may be wrong more often than stated.

    >>> INDEPENDENT_OPTIONS.name, INDEPENDENT_OPTIONS.condition
    ('independent options', 'the options of a play are independent')
    """

    name: str
    """What verdicts call it: two or three words."""
    condition: str
    """The clause that follows "if", without a full stop."""
    sentence: str
    """What is assumed, for whom it holds and for whom it does not: a whole sentence or two."""
    remedy: str
    """What to use where it does not hold: a whole sentence."""

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if not isinstance(text, str) or not text.strip():
                raise InvalidParameter(f"{field.name}={text!r} says nothing; an assumption has all parts, as text")
        for whole in ("sentence", "remedy"):
            text = getattr(self, whole)
            if not text.endswith("."):
                raise InvalidParameter(f"{whole}={text!r} is no whole sentence; end it with a full stop")
        if self.condition.endswith("."):
            raise InvalidParameter(f"condition={self.condition!r} goes on in a sentence; leave out the full stop")


INDEPENDENT_OPTIONS = Assumption(
    name="independent options",
    condition="the options of a play are independent",
    sentence=(
        "The options of a play are taken to be independent of each other. Photons are; providers, solvers, agents and "
        "readers mostly are not, because one request can make several fail together."
    ),
    remedy=(
        "If yours can fail together, use linked-duels under linkage free, or one option a play under linkage single: "
        "neither assumes it."
    ),
)
"""Whether one option works on a request says nothing of the others.

After a success the options behind it are not seen, so an option is mostly tried where others have failed. That is a
fair sample of it only if their failures say nothing of how it will do.
"""


TOLD_DIFFERENCE = "told difference"
"""What verdicts call it that the best option is ahead by at least as much as the user has said."""


@dataclass(frozen=True, slots=True)
class ToldDifference:
    """How far the best option is ahead of every other at least, as the user has told a policy: one of the two.

    >>> str(ToldDifference(gap=0.05)), str(ToldDifference(odds_ratio=2.0))
    ('a gap of 0.05', 'an odds ratio of 2')
    """

    gap: float | None = None
    """By how much its mean is higher."""
    odds_ratio: float | None = None
    """How many times its odds, successes for one failure, are those of any other."""

    def __post_init__(self) -> None:
        if (self.gap is None) == (self.odds_ratio is None):
            raise InvalidParameter(
                f"gap={self.gap!r} with odds_ratio={self.odds_ratio!r} is no difference; give one of them"
            )

    def __str__(self) -> str:
        return f"an odds ratio of {self.odds_ratio:.6g}" if self.gap is None else f"a gap of {self.gap:.6g}"

    def assumption(self) -> Assumption:
        """That it is so, for a policy to declare.

        >>> ToldDifference(gap=0.05).assumption().condition
        'the best option is ahead of every other by at least 0.05'
        >>> ToldDifference(odds_ratio=2.0).assumption().condition
        'the odds of the best option are at least 2 times those of every other'
        """
        if self.gap is not None:
            ahead = f"ahead of every other by at least {self.gap:g}"
            condition, sentence = f"the best option is {ahead}", f"The best option is taken to be {ahead}"
        else:
            odds = f"odds of the best option are at least {self.odds_ratio:g} times those of every other"
            condition, sentence = f"the {odds}", f"The {odds} (successes for one failure)"
        return Assumption(
            name=TOLD_DIFFERENCE,
            condition=condition,
            sentence=f"{sentence}, as was told; where that is not so, another may be answered.",
            remedy=(
                "If you do not know by how much the best one is ahead, leave it out, or use linked-duels or "
                "linked-elimination, which need not be told."
            ),
        )
