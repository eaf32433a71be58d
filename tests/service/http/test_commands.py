"""What servers write to each other comes out as it went in, whatever pieces it comes in."""

from __future__ import annotations

from contextvars import Context

import pytest

import linkedbandits as lb
from linkedbandits.service.http import commands, request_ids
from linkedbandits.service.http.commands import Kind, Outcome, OutcomeReader, read_batch, write_batch, write_outcome
from linkedbandits.service.http.problems import problem_of

OUTCOMES = [
    (1, Outcome(Kind.ANSWER, 200, b'{"plays":[]}')),
    (0, Outcome(Kind.PROBLEM, 409, "{ü\n}".encode())),
    (12, Outcome(Kind.UNKNOWN, 0, b"")),
    (2, Outcome(Kind.ANSWER, 200, b"7 0 200 3\nabc" * 50)),
]


def test_commands_keep_their_order_and_their_labels():
    answers = [(0, "ü\n"), (1, None), (2, True), (3, 1), (4, 2.5)]

    def written():
        return [
            commands.ask("x", 3, None, False),
            commands.ask("x", 3, "k", True),
            commands.tell("x", answers, "/v1/experiments/x/tell"),
            commands.abandon("y", [1, 2], True),
            commands.expenses("y", "web1", '{"options":[]}'),
            commands.look("y", "view"),
        ]

    read = read_batch(write_batch(Context().run(written)))
    assert read == [
        [None, "ask", "x", 3, None, False],
        [None, "ask", "x", 3, "k", True],
        [None, "tell", "x", [list(answer) for answer in answers], "/v1/experiments/x/tell"],
        [None, "abandon", "y", [1, 2], True],
        [None, "expenses", "y", "web1", '{"options":[]}'],
        [None, "view", "y"],
    ]
    assert [type(hit) for _, hit in read[2][3]] == [type(hit) for _, hit in answers]


def test_a_command_has_the_name_of_the_request_that_it_comes_with():
    written = request_ids.with_new_id(lambda: (request_ids.current_request_id(), commands.abandon("x", [1], False)))
    assert read_batch(write_batch([written[1]])) == [[written[0], "abandon", "x", [1], False]]


@pytest.mark.parametrize("size", [1, 2, 7, 50, 10_000])
def test_outcomes_are_read_from_pieces_of_any_size(size):
    data = b"".join(write_outcome(number, outcome) for number, outcome in OUTCOMES)
    reader = OutcomeReader()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [found for piece in pieces for found in reader.feed(piece)] == OUTCOMES


@pytest.mark.parametrize(
    "error",
    [
        lb.WrongState("it is paused", reason="experiment_paused"),
        lb.StoreUnavailable("ü"),
        lb.UnknownName("x", reason="unknown_experiment"),
    ],
)
def test_an_error_is_raised_as_it_was(error):
    raised = Outcome.of(error).error()
    assert (type(raised), str(raised), raised.reason) == (type(error), str(error), error.reason)


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (lb.StoreUnavailable("disk", detail="the disk is full"), "detail"),
        (lb.ConflictingTell("other", on_record="north"), "on_record"),
        (lb.ServiceUnavailable("often", retry_after=0.5, reason="too_many_requests"), "retry_after"),
    ],
    ids=["reason", "on_record", "retry_after"],
)
def test_an_error_keeps_what_its_problem_document_shows(error, part):
    raised = Outcome.of(error).error()
    assert getattr(raised, part) == getattr(error, part) is not None
    assert problem_of(raised) == problem_of(error)


def test_an_error_that_this_version_does_not_know_is_an_unexpected_answer():
    raised = Outcome(Kind.ERROR, 0, b'["urn:linkedbandits:what","it is new",{}]').error()
    assert (type(raised), str(raised)) == (lb.UnexpectedAnswer, "it is new")
