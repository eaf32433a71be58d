"""Bearer tokens: random, shown once, kept as digests."""

from __future__ import annotations

import hashlib

import pytest

import linkedbandits as lb
from linkedbandits.service.tokens import digest_of, make_token


def test_a_token_is_random_and_only_its_digest_is_kept():
    first, record = make_token("web1", "player", lambda: 7.0)
    second, _ = make_token("web1", "player", lambda: 7.0)
    assert first != second
    assert len(first) >= 43
    assert record.digest == hashlib.sha256(first.encode()).hexdigest() == digest_of(first)
    assert first not in repr(record)
    assert (record.name, record.role, record.created_at) == ("web1", "player", 7.0)


@pytest.mark.parametrize("name", ["a\nb", "x" * 201])
def test_a_token_s_name_can_be_shown(name):
    with pytest.raises(lb.InvalidParameter, match="name="):
        make_token(name, "viewer", lambda: 0.0)
