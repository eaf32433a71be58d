"""What the store keeps: set-ups that make sense, texts that every store can hold, and who wrote what."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.service.records import LONGEST_LEASE, LONGEST_TEXT, Setup, Writer, check_text
from tests.support.service_parts import SETUP, create


@pytest.mark.parametrize("key", ["a\0b", "x" * 201, "\ud800", 7])
def test_a_key_that_not_every_store_could_keep_is_refused(desk, key):
    experiment = create(desk)
    with pytest.raises(lb.InvalidParameter, match=r"^key=.*(is no text of at most 200 characters|leave it out)"):
        desk.ask(experiment, key=key).result()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"arms": ("a",)}, lb.InvalidParameter),
        ({"policy": {"name": "magic", "parameters": {}}}, lb.UnknownName),
        ({"policy": {"name": "linked-elimination", "parameters": {"delta": 2}}}, lb.InvalidParameter),
        ({"policy": {"name": "suffix-ucb", "parameters": {"delta": 0.1}}, "linkage": "single"}, lb.InvalidParameter),
        ({"lease_seconds": 0.0}, lb.InvalidParameter),
        ({"lease_seconds": float("inf")}, lb.InvalidParameter),
        ({"seed": -1}, lb.InvalidParameter),
        ({"max_plays": 0}, lb.InvalidParameter),
    ],
)
def test_a_set_up_that_makes_no_sense_is_not_stored(desk, changes, error):
    with pytest.raises(error):
        create(desk, **changes)
    assert desk.records().result() == []


labels = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
setups = st.builds(
    Setup,
    arms=st.lists(labels, min_size=2, max_size=5).map(tuple),
    policy=st.fixed_dictionaries({"name": st.text(), "parameters": st.dictionaries(st.text(), labels, max_size=3)}),
    linkage=st.sampled_from(["ordered", "free"]),
    seed=st.integers(0, 2**62),
    max_plays=st.none() | st.integers(1, 2**62),
    parallel=st.none() | st.integers(1, 2**62),
    lease_seconds=st.floats(0.001, LONGEST_LEASE),
)


@given(setups)
def test_a_set_up_comes_back_exactly_labels_and_all(setup):
    assert repr(Setup.from_json(setup.to_json())) == repr(setup)  # 1, 1.0 and True are equal, but not the same label


def test_a_lease_may_be_as_long_as_ten_years_and_no_longer():
    day = 24 * 3600.0
    for days in (3652, LONGEST_LEASE / day):
        assert replace(SETUP, lease_seconds=days * day).begin().plays == 0
    for days in (LONGEST_LEASE / day * 1.001, 3670):
        with pytest.raises(lb.InvalidParameter, match="lease_seconds"):
            replace(SETUP, lease_seconds=days * day).begin()


def test_a_set_up_needs_arms_and_a_policy_alone():
    rest = Setup(SETUP.arms, SETUP.policy)
    assert (rest.linkage, rest.seed, rest.max_plays, rest.parallel) == ("ordered", 0, None, None)
    assert rest.lease_seconds == 60.0


CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)])) + "\u2028\u2029"
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NOTHING_TO_SEE = "\u200b\u2060\u2064\u206a\ufeff\ufff9"


@given(st.text(max_size=LONGEST_TEXT + 5))
def test_a_text_is_taken_if_it_is_to_be_seen_and_short_enough(text):
    if text.isprintable() and len(text) <= LONGEST_TEXT:
        check_text("name", text)
    elif len(text) > LONGEST_TEXT or set(text) & set(CONTROLS + TURNING + NOTHING_TO_SEE):
        with pytest.raises(lb.InvalidParameter, match=r"^name="):
            check_text("name", text)


@pytest.mark.parametrize(
    "text",
    [
        "10\u00a0%",
        "a\u202fb",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0646\u0645\u06cc\u200c\u062e",
        "\u05d0\u200fb",
    ],
    ids=["no-break space", "narrow no-break space", "family", "Persian", "Hebrew with a mark"],
)
def test_what_people_write_is_taken(text):
    check_text("name", text)


@pytest.mark.parametrize("letter", [*CONTROLS, *TURNING, *NOTHING_TO_SEE, "\ud800"], ids=ascii)
def test_what_cannot_be_seen_is_refused_by_its_number(letter):
    with pytest.raises(
        lb.InvalidParameter, match=rf"has the character U\+{ord(letter):04X}\b.*; leave it out"
    ) as caught:
        check_text("name", f"a{letter}b")
    assert letter not in str(caught.value)  # nor does the message do what it does
    assert ("turns the text around it" in str(caught.value)) == (letter in TURNING)


def test_the_longest_text_is_taken():
    check_text("name", "x" * LONGEST_TEXT)


@given(st.text("0123456789.abc+", min_size=1), st.text("0123456789abcdef -", min_size=1))
def test_a_writer_is_read_back_whatever_its_policy_asks(version, asks):
    assert Writer.read(str(Writer(version, asks, 7))) == (version, asks, 7)
    assert Writer.read(f"{version} {asks}") == (version, asks, 1)
