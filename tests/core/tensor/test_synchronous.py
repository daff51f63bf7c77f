"""Streams and events of devices that finish each call before it returns."""

from __future__ import annotations

from tt.core.tensor.synchronous import SynchronousEvent, SynchronousStream


def test_events_measure_the_time_between_them_and_nothing_waits():
    stream, first, second = SynchronousStream(), SynchronousEvent(), SynchronousEvent()
    stream.record(first)
    stream.record(second)
    stream.wait(second)
    stream.synchronize()
    second.synchronize()
    assert stream.query() and first.query()
    assert first.elapsed_time(second) >= 0 >= second.elapsed_time(first)
