"""The number of the calling thread is Python's, whichever form runs."""

from __future__ import annotations

import threading

from tt.core.types.state import STATE
from tt.core.types.thread_ident import this_thread


def test_it_is_the_number_that_python_gives_the_thread() -> None:
    numbers: list[bool] = []
    thread = threading.Thread(target=lambda: numbers.append(this_thread() == threading.get_ident() != 0))
    thread.start()
    thread.join()
    assert numbers == [True] and this_thread() == threading.get_ident()


def test_the_compiled_form_uses_the_same_number() -> None:
    STATE.set_ambient({"test": 1})
    try:
        assert STATE.ambient_thread == threading.get_ident()
    finally:
        STATE.set_ambient({})
