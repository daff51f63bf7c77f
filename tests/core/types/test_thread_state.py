"""The switches of a thread are its own."""

from __future__ import annotations

from tests.threads import in_threads
from tt.core.types.thread_state import THREAD


def test_a_thread_begins_with_nothing_switched():
    seen = []
    before = THREAD.modes, THREAD.functions, THREAD.subclasses, THREAD.masked
    THREAD.functions, THREAD.masked = False, 4
    try:
        in_threads(lambda: seen.append((THREAD.modes, THREAD.functions, THREAD.subclasses, THREAD.masked)))
    finally:
        THREAD.modes, THREAD.functions, THREAD.subclasses, THREAD.masked = before
    assert seen == [([], True, True, 0)]
