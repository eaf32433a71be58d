"""Tags: a few words that experiments are found by."""

from __future__ import annotations

from collections.abc import Sequence

from linkedbandits.errors import InvalidParameter
from linkedbandits.service.records import check_text

MOST_TAGS = 20
LONGEST_TAG = 50


def check_tags(tags: Sequence[str]) -> None:
    """Refuse what are no tags: each some printable text without a comma, none of them twice.

    >>> check_tags(["eu", "cards"])
    >>> check_tags(["eu", "eu"])
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: tags=['eu', 'eu'] has one twice; leave it out
    """
    if len(tags) > MOST_TAGS:
        raise InvalidParameter(f"tags are {len(tags)}, and an experiment may have {MOST_TAGS}; leave some out")
    for tag in tags:
        check_text("tags", tag)
        if not 0 < len(tag) <= LONGEST_TAG or "," in tag or tag != tag.strip():
            raise InvalidParameter(
                f"tags={tag!r} is none; give up to {LONGEST_TAG} characters, without commas or spaces at an end"
            )
    if len(set(tags)) < len(tags):
        raise InvalidParameter(f"tags={list(tags)!r} has one twice; leave it out")
