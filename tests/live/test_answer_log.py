"""Answers, packed and in segments."""

from __future__ import annotations

import numpy as np

from linkedbandits.live.answers import GIVEN_UP, NO_HIT, SEGMENT, WAITING, AnswerLog


def some_answers(count: int) -> AnswerLog:
    answers = AnswerLog()
    for play in range(count):
        assert answers.open_play(np.array([0])) == play
        answers.record(play, [NO_HIT, WAITING, GIVEN_UP, GIVEN_UP - 70_000, 0, 7, 100_000][play % 7])
    return answers


def test_they_survive_as_text():
    answers = some_answers(100)
    read = AnswerLog.from_json(answers.to_json())
    assert list(read) == list(answers)


def test_segments_put_together_are_the_whole():
    answers = some_answers(2 * SEGMENT + 5)
    read = AnswerLog.from_segments(answers.segment(number) for number in range(3))
    assert read.to_json()["answers"] == answers.to_json()["answers"]
    assert len(AnswerLog.from_segments([answers.segment(2)])) == 5


def test_a_new_play_waits():
    answers = AnswerLog()
    assert answers[answers.open_play(np.array([0]))] == WAITING
