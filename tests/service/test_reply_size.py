"""What plays take is reckoned before they are handed out, and never too small."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.live import Play
from linkedbandits.service.http.playing import encode_asked, encode_tuples
from linkedbandits.service.replies import AskReply
from linkedbandits.service.reply_size import ReplyLimit, ReplySize, ReplySizes

LABELS = ["north", 'quoted " one', "smile \U0001f642", 12345678901, True, 0.125]
ORDERS = st.lists(st.permutations(range(len(LABELS))).flatmap(lambda order: st.integers(1, 6).map(lambda n: order[:n])))


@pytest.mark.parametrize("tuples_once", [False, True])
@given(orders=ORDERS.filter(bool), first=st.integers(0, 2**62), repeats=st.integers(1, 3))
def test_an_answer_is_never_larger_than_reckoned(tuples_once, orders, first, repeats):
    tuples = [np.array(order) for order in orders for _ in range(repeats)]
    size = ReplySize(ReplySizes(LABELS), ReplyLimit(10**9, tuples_once))
    total = size.add_all(tuples)
    plays = tuple(
        Play(number, tuple(LABELS[arm] for arm in arms.tolist())) for number, arms in enumerate(tuples, start=first)
    )
    numbers = {arms.tobytes(): number for number, arms in enumerate(tuples)}
    asked = AskReply(plays, 1e9 + 0.123456, repeated=False, runs=[[numbers[arms.tobytes()], 1] for arms in tuples])
    encoded = encode_tuples(asked) if tuples_once else encode_asked(asked)
    assert len(encoded) <= total + 100
    assert json.loads(encoded)["plays"]


def test_it_is_full_when_another_play_might_be_too_much():
    sizes = ReplySizes(["a", "b"])
    assert sizes.widest == 60 + 2 * 4
    size = ReplySize(sizes, ReplyLimit(3 * sizes.widest, tuples_once=False))
    arms, fulls = np.array([0, 1]), []
    for _ in range(3):
        fulls.append(size.full)
        size.add(arms)
    assert [*fulls, size.full] == [False, False, False, True]


def test_a_whole_chain_has_all_arms_with_its_rest():
    sizes = ReplySizes(["a", "bb", "ccc"])
    assert sizes.of(np.array([1, ~0, ~2])) == sizes.widest
