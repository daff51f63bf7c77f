"""Streams and events: of devices that finish each call, and those of a backend."""

from __future__ import annotations

import pytest

import tt
from tt.errors import DeviceError


def test_a_synchronous_stream_orders_nothing() -> None:
    stream, event = tt.Stream("cpu"), tt.Event("cpu", enable_timing=True)
    with stream as current:
        assert current is stream and tt.cpu.current_stream() == stream
        x = tt.ones(2) * 3
    assert tt.cpu.current_stream() != stream and hash(stream) != hash(tt.cpu.current_stream())
    assert x.tolist() == [3.0, 3.0]
    event.record(stream)
    end = stream.record_event(tt.Event("cpu", enable_timing=True))
    stream.wait_event(event)
    stream.wait_stream(tt.cpu.current_stream())
    stream.synchronize()
    event.synchronize()
    assert stream.query() and event.query() and event.elapsed_time(end) >= 0
    with tt.cpu.stream(None), tt.cpu.stream(stream):
        assert tt.cpu.current_stream() == stream


def test_events_that_cannot_be_compared_are_refused() -> None:
    timed, untimed = tt.Event("cpu", enable_timing=True), tt.Event("cpu")
    with pytest.raises(DeviceError, match="the start event was not recorded"):
        timed.elapsed_time(timed)
    timed.record()
    with pytest.raises(DeviceError, match="the end event does not measure time"):
        timed.elapsed_time(untimed)
    with pytest.raises(DeviceError, match="interprocess=True"):
        tt.Event("cpu", interprocess=True)
    with pytest.raises(DeviceError, match="an event of cpu is not recorded in a stream of meta"):
        timed.record(tt.Stream("meta"))


def test_streams_and_events_are_those_of_the_backend(gadget) -> None:
    stream, other = tt.Stream("gadget:1"), tt.Stream("gadget:1", priority=-1)
    assert stream.device == tt.device("gadget:1") and stream.device_index == 1 and not stream.query()
    event = stream.record_event(tt.Event("gadget:1", enable_timing=True))
    other.wait_event(event)
    other.wait_stream(stream)
    event.synchronize()
    assert gadget.log == ["stream0 record event", "stream0 wait event", "stream0 record event", "stream0 wait event",
                          "event synchronize"]  # fmt: skip
    tt.Stream("cpu").wait_event(event)  # a stream of another type cannot wait, so the host does
    assert gadget.log[-1] == "event synchronize" and len(gadget.log) == 6
