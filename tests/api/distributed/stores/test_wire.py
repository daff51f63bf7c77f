from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt.distributed.stores.wire import LIMIT, SIZE, FrameError, foreign, pack, size_of, unpack


@given(st.integers(0, 255), st.lists(st.binary(max_size=50), max_size=5))
def test_a_message_gives_back_its_fields(kind, fields):
    message = pack(kind, *fields)
    assert size_of(message) == len(message) - SIZE.size
    assert unpack(message[SIZE.size :]) == (kind, fields)


@given(st.binary(min_size=1, max_size=60))
def test_any_bytes_are_fields_or_an_error(body):
    try:
        kind, fields = unpack(body)
    except FrameError:
        return
    assert pack(kind, *fields)[SIZE.size :] == body


def test_a_message_above_the_limit_is_refused_by_both_sides():
    with pytest.raises(ValueError, match="too large for a TCPStore, the limit is 67,108,864"):
        pack(1, bytes(LIMIT))
    with pytest.raises(FrameError, match="announces 67,108,865 bytes"):
        size_of(SIZE.pack(LIMIT + 1))


def test_another_version_is_told_from_another_protocol():
    assert "version 9" in foreign(b"ttstore\x09")
    assert "not a TCPStore" in foreign(b"HTTP/1.1")
