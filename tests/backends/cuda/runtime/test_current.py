"""The device and the streams of a thread, on two fake devices."""

from __future__ import annotations

import tt
from tests.threads import in_threads
from tt.core.library import state_of_thread


def current():
    return tt.cuda.current_device(), tt.cuda.current_stream(0), tt.cuda.current_stream(1)


def test_another_thread_gets_the_current_device_and_streams(cuda):
    fresh, seen = current(), []
    first, second = tt.cuda.Stream(0), tt.cuda.Stream(1)

    def other():
        seen.append(current())
        given()
        seen.append(current())

    with tt.cuda.stream(first), tt.cuda.stream(second):
        given = state_of_thread()
        in_threads(other)
    assert seen == [fresh, (1, first, second)]
    assert current() == fresh


def test_a_process_that_does_not_use_cuda_does_not_begin_to(cuda):
    assert not tt.cuda.is_initialized()
    state_of_thread()()
    assert not tt.cuda.is_initialized()
