"""Following a file: whole lines only, none lost and none twice, whatever happens to the file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkedbandits.attempts import SetAside
from linkedbandits.cli.verdict_watch import Event, Follower, news
from linkedbandits.errors import CannotRead, InvalidAttempts, InvalidParameter
from tests.support.logs import log_of


@pytest.fixture
def followed(tmp_path):
    source = tmp_path / "log.csv"
    source.write_bytes(b"a,b\n")
    follower = Follower(source, tmp_path / "copy")
    yield source, follower
    follower.close()


def add(path, data):
    with path.open("ab") as file:
        file.write(data)


def test_half_a_line_waits_for_the_rest(followed):
    source, follower = followed
    assert follower.look() == (True, [])
    add(source, b"1,2\n3,")
    assert follower.look() == (True, [])
    assert follower.copy.read_bytes() == b"a,b\n1,2\n"
    assert follower.look() == (False, [])
    add(source, b"4\n")
    assert follower.look() == (True, [])
    assert follower.copy.read_bytes() == b"a,b\n1,2\n3,4\n"
    assert follower.lines == 3


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=20), max_size=8))
def test_any_parts_come_out_as_they_went_in(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("followed")
    source = folder / "log"
    source.write_bytes(b"head\n")
    follower = Follower(source, folder / "copy")
    follower.look()
    for part in parts:
        add(source, part)
        follower.look()
    follower.close()
    whole = source.read_bytes()
    assert (folder / "copy").read_bytes() == whole[: whole.rindex(b"\n") + 1]


def test_a_new_file_goes_on_without_its_header_and_the_last_line_of_the_old_one_counts(followed):
    source, follower = followed
    add(source, b"1,2\n3,4")
    follower.look()
    source.rename(source.with_suffix(".1"))
    assert follower.look() == (False, [])  # there is none yet
    add(source.with_suffix(".1"), b"5\n6,7")
    source.write_bytes(b"a,b\r\n8,9\n")
    grew, said = follower.look()
    assert (grew, said) == (
        True,
        [f"{source} was replaced by a new file; what was read of the old one still counts."],
    )
    assert follower.copy.read_bytes() == b"a,b\n1,2\n3,45\n6,7\n8,9\n"


def test_a_file_that_was_cut_off_goes_on_even_if_it_is_longer_again(followed):
    source, follower = followed
    add(source, b"1,2\n3,4")
    follower.look()
    source.write_bytes(b"5,6\n")
    said = [f"{source} was cut off and begins anew; what was read before still counts."]
    assert follower.look() == (True, said)
    source.write_bytes(b"a,b\n7,8\n9,10\n11,12\n")
    assert follower.look() == (True, said)
    assert follower.look() == (False, [])
    assert follower.copy.read_bytes() == b"a,b\n1,2\n5,6\n7,8\n9,10\n11,12\n"


def test_lines_of_json_have_no_header_to_leave_out(tmp_path):
    source = tmp_path / "log.jsonl"
    source.write_bytes(b'{"a": 1}\n')
    follower = Follower(source, tmp_path / "copy")
    follower.look()
    source.rename(tmp_path / "old")
    source.write_bytes(b'{"a": 1}\n')
    follower.look()
    follower.close()
    assert follower.copy.read_bytes() == b'{"a": 1}\n' * 2


def test_other_columns_are_refused(followed):
    source, follower = followed
    follower.look()
    source.rename(source.with_suffix(".1"))
    source.write_bytes(b"b,a,c\n1,2,3\n")
    with pytest.raises(InvalidAttempts, match="goes on with other columns, 'b,a,c'; watch it in a new command"):
        follower.look()


@pytest.mark.parametrize("begin", [b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"PAR1", b"\xff\xfe"])
def test_what_is_packed_is_refused(tmp_path, begin):
    path = tmp_path / "log"
    path.write_bytes(begin)
    with pytest.raises(InvalidParameter, match="leave --watch out"):
        Follower(path, tmp_path / "copy")


def test_a_header_that_begins_like_parquet_is_text(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"PART,b\n")
    follower = Follower(path, tmp_path / "copy")
    assert follower.look() == (True, [])
    follower.close()


def test_what_is_not_there_or_no_file_is_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(CannotRead, match="cannot read"):
            Follower(path, tmp_path / "copy")


def kinds(before, now):
    return [event.kind for event in news(before, now)]


def test_news_of_the_first_report_is_how_things_stand():
    assert kinds(None, log_of([0.5, 0.52], 60).verdict()) == ["begins"]
    assert kinds(None, log_of([0.9, 0.5, 0.3], 900).verdict()) == ["out", "out", "verdict"]


def test_nothing_new_is_no_news():
    report = log_of([0.5, 0.52], 60).verdict()
    assert kinds(report, report) == []


def test_news_are_told_once():
    short, long = (log_of([0.9, 0.7, 0.5], size, difficulty=0.3) for size in (40, 3000))
    aside = SetAside("torn rows", "why", 1, (7,))
    before, now = short.verdict(), replace(long, set_aside=(aside,)).verdict()
    found = list(news(before, now))
    assert {event.kind for event in found} == {"out", "set-aside", "no-matter", "verdict"}
    assert "Set aside: torn rows: 1 row, in line 7; why." in [event.said for event in found]
    assert kinds(now, now) == []
    assert {event.kind for event in news(before, long.verdict(attempts="all"))} >= {"alarm"}


def test_a_verdict_that_changes_is_told():
    one, other = (log_of(means, 300).verdict() for means in ([0.9, 0.1], [0.1, 0.9]))
    said = {event.kind: event.said for event in news(one, other)}
    assert said["verdict"].startswith("The verdict is another one, after 300 requests: b works most often")


def test_new_options_and_those_that_are_in_again():
    two = log_of([0.9, 0.1], 300).verdict()
    three = log_of([0.9, 0.1, 0.5], 12).verdict()
    said = {event.kind: event.said for event in news(two, three)}
    assert said["option"] == "c is a new option, after 12 requests."
    assert said["in"].startswith("b is in again, after 12 requests")


def test_an_event_as_json():
    assert Event("out", 7, "a is out").to_json() == {"event": "out", "requests": 7, "said": "a is out"}
