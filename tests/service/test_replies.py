"""What the desk answers, by the promises of its replies: never no plays, and one receipt an answer, in order."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import ExperimentRecord
from linkedbandits.service.replies import Refused
from tests.support.service_parts import SETUP

ARMS = SETUP.arms


def hosted(**changes) -> HostedExperiment:
    """In memory alone: without keys nothing is read from a store."""
    return HostedExperiment(ExperimentRecord("x", "x", replace(SETUP, **changes), "running", 0.0, head=0))


@given(asked=st.lists(st.integers(1, 6), max_size=6), parallel=st.integers(1, 8))
def test_an_ask_brings_at_most_what_was_asked_for_and_never_nothing(asked, parallel):
    experiment = hosted(parallel=parallel)
    out = 0
    for count in asked:
        room = parallel - out
        if room == 0:
            break
        reply = experiment.ask(None, count, None, now=5.0)
        assert [play.id for play in reply.plays] == list(range(out, out + min(count, room)))
        assert (reply.expires_at, reply.repeated) == (5.0 + SETUP.lease_seconds, False)
        out += len(reply.plays)


answers = st.tuples(st.integers(-1, 9), st.sampled_from([*ARMS, "up", None]))


def as_text(receipt) -> str:
    return str(receipt.error) if isinstance(receipt, Refused) else receipt


@given(st.lists(answers, max_size=12))
def test_receipts_are_those_of_the_answers_one_by_one_in_the_order_they_came(told):
    together, singly = hosted(max_plays=5), hosted(max_plays=5)
    for each in (together, singly):
        each.ask(None, 5, None, now=0.0)
    reply = together.tell(told, now=1.0)
    replies = [singly.tell([answer], now=1.0) for answer in told]
    assert [as_text(receipt) for receipt in reply.receipts] == [as_text(one.receipts[0]) for one in replies]
    assert reply.done == (replies[-1].done if replies else False) == singly.experiment.done


def test_a_refused_answer_says_why_and_the_last_one_that_counts_says_that_it_is_done():
    experiment = hosted(max_plays=2)
    experiment.ask(None, 2, None, now=0.0)
    first = experiment.tell([(0, None), (7, None), (1, "up")], now=1.0)
    assert [type(receipt.error) for receipt in first.receipts[1:]] == [lb.UnknownName, lb.InvalidParameter]
    assert not first.done
    assert experiment.tell([(1, None)], now=1.0).done
