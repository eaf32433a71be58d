"""The places behind the first, after the verdict."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest

import linkedbandits as lb
from linkedbandits.chain.behind import ENOUGH, OthersSecond, SecondTries


def tries_of(first: str, **counts: tuple[int, int]) -> SecondTries:
    found = SecondTries()
    for option, (tries, hits) in counts.items():
        for number in range(tries):
            found.add(first, option, number < hits)
    return found


def test_what_does_better_behind_the_first_goes_first():
    tries = tries_of("a", b=(100, 40), c=(100, 60), d=(100, 50))
    assert tries.order("a", ("b", "c", "d")) == ("c", "d", "b")


def test_what_was_seen_behind_another_option_says_nothing():
    tries = tries_of("a", b=(100, 40), c=(100, 60))
    assert tries.order("d", ("b", "c")) == ("b", "c")


def test_the_usual_order_stays_while_either_was_hardly_tried():
    few = ENOUGH - 1
    assert tries_of("a", b=(1000, 10), c=(few, few)).order("a", ("b", "c")) == ("b", "c")
    assert tries_of("a", b=(few, 0), c=(1000, 990)).order("a", ("b", "c")) == ("b", "c")
    assert tries_of("a", b=(ENOUGH, 0), c=(1000, 990)).order("a", ("b", "c")) == ("c", "b")


def test_the_usual_order_stays_where_the_difference_may_be_luck():
    assert tries_of("a", b=(100, 50), c=(100, 52)).order("a", ("b", "c")) == ("b", "c")
    assert tries_of("a", b=(10_000, 5_000), c=(10_000, 5_200)).order("a", ("b", "c")) == ("c", "b")


def test_what_is_forgotten_does_not_count():
    tries = tries_of("a", b=(100, 40), c=(100, 60), d=(100, 80))
    tries.forget(["d"])
    assert tries.order("a", ("b", "c", "d")) == ("c", "b", "d")


def test_another_option_is_second_in_the_share_of_calls_each_as_often():
    draws = [number / 1200 for number in range(1200)]
    others = OthersSecond(0.1, iter(draws).__next__)
    orders = Counter(others.order_for(("a", "b", "c", "d", "e")) for _ in draws)
    assert orders == {
        ("a", "b", "c", "d", "e"): 1080,
        ("a", "c", "b", "d", "e"): 40,
        ("a", "d", "b", "c", "e"): 40,
        ("a", "e", "b", "c", "d"): 40,
    }


@pytest.mark.parametrize(("share", "order"), [(0.0, ("a", "b", "c")), (1.0, ("a", "b"))])
def test_without_a_share_or_another_option_nothing_is_drawn(share, order):
    assert OthersSecond(share, iter([]).__next__).order_for(order) == order


MEANS = {"best": 0.5, "twin": 0.45, "apart": 0.4}


class Gateways:
    """The best fails on one of two requests; what works behind it is not what works most often on its own."""

    def __init__(self, seed: int) -> None:
        self._luck = random.Random(seed)
        self.works: dict[str, bool] = {}

    def request(self) -> None:
        self.works = {label: self._luck.random() < mean for label, mean in MEANS.items()}
        self.works["twin"] &= self.works["best"]

    def option(self, label: str):
        def attempt():
            if not self.works[label]:
                raise ConnectionError(label)
            return label

        return attempt

    def chain(self, **given) -> lb.Chain:
        return lb.Chain({label: self.option(label) for label in MEANS}, **given)

    def call(self, chain: lb.Chain, times: int) -> list[tuple[str, ...]]:
        tried = []
        for _ in range(times):
            self.request()
            try:
                tried.append(chain().tried)
            except lb.ChainFailed as failed:
                tried.append(failed.tried)
        return tried


def decided(gateways: Gateways, **given) -> lb.Chain:
    """A chain that has a verdict for the first option, and knows nothing of the others."""
    chain = gateways.chain(policy=lb.UniformSampling(samples=1), linkage="single", **given)
    while chain.verdict() is None:
        gateways.works = {label: label == "best" for label in MEANS}
        with suppress(lb.ChainFailed):
            chain()
    assert chain.order == ("best", "twin", "apart")
    return chain


@pytest.mark.statistical
def test_calls_after_the_verdict_show_what_should_be_second():
    """A hundred calls or so have the other option second and the best failing: it is not seen with less than 10^-9."""
    gateways = Gateways(1)
    chain = decided(gateways, reopen=None)
    gateways.call(chain, 2000)
    assert chain.order == ("best", "apart", "twin")
    assert Counter(tried[0] for tried in gateways.call(chain, 100))["best"] > 80  # the others are watched


def test_with_nothing_watched_the_order_is_kept_to():
    gateways = Gateways(1)
    chain = decided(gateways, watch=None, reopen=None)
    tried = gateways.call(chain, 500)
    assert {each[:2] for each in tried} == {("best",), ("best", "twin")}
    assert chain.order == ("best", "twin", "apart")


def test_the_status_says_how_many_places_are_proved():
    gateways = Gateways(1)
    chain = gateways.chain()
    assert chain.status().proved == 0
    while chain.verdict() is None:
        gateways.call(chain, 1)
    assert chain.status().proved == 1
    assert decided(Gateways(2)).status().proved == 0  # a policy without a guarantee


def test_an_order_by_measured_costs_is_not_proved():
    gateways = Gateways(1)
    chain = gateways.chain(costs=lambda attempt, value: 1.0)
    while chain.verdict() is None:
        gateways.call(chain, 1)
    gateways.call(chain, 200)
    assert chain.order[0] == chain.verdict().arm
    assert chain.status().proved == 0
