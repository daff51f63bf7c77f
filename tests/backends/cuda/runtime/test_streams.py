"""Devices, streams, events, copies and exchange with other libraries, on two fake devices."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tt
from tt.errors import (
    ArgumentError,
    DeviceError,
    ExportError,
    GradientError,
)

# --- streams and events ----------------------------------------------------------------------------------------


def test_a_stream_is_the_current_one_of_its_device_inside_a_block(cuda):
    default = tt.cuda.current_stream()
    assert default == tt.cuda.default_stream() and default.stream_id == 0
    stream, other = tt.cuda.Stream(), tt.cuda.Stream(1, priority=-1)
    assert (str(other.device), other.priority) == ("cuda:1", -1) and isinstance(
        other, tt.cuda.Stream | tt.Stream
    )
    with tt.cuda.stream(other):
        assert tt.cuda.current_device() == 1 and tt.cuda.current_stream() == other
        assert tt.cuda.current_stream(0) == default
        with tt.cuda.stream(stream), tt.cuda.stream(None):
            assert tt.cuda.current_device() == 0 and tt.cuda.current_stream() == stream
    assert tt.cuda.current_stream() == default and tt.cuda.current_stream(1).stream_id == 0
    tt.cuda.set_stream(stream)
    tt.cuda.set_stream(None)
    assert tt.cuda.current_stream() == stream
    seen = []
    thread = threading.Thread(target=lambda: seen.append(tt.cuda.current_stream().stream_id))
    thread.start()
    thread.join()
    assert seen == [0], "another thread has current streams of its own"
    tt.cuda.set_stream(tt.cuda.default_stream())
    foreign = tt.cuda.ExternalStream(stream.stream_id)
    assert foreign == stream and foreign.native.native.ptr == stream.native.ptr
    with pytest.raises(DeviceError, match="Expected a cuda device, but got: cpu"):
        tt.cuda.Stream("cpu")
    with pytest.raises(DeviceError, match="takes no streams of other libraries"):
        tt.cpu.ExternalStream(5)


def test_streams_wait_for_events_and_for_each_other(cuda):
    first, second = tt.cuda.Stream(), tt.cuda.Stream()
    with cuda.driver.hold():
        with tt.cuda.stream(first):
            x = tt.ones(4, device="cuda")
        event = first.record_event()
        assert not event.query() and not first.query()
        second.wait_event(event)
        second.wait_stream(first)
        assert [entry[:3] for entry in cuda.driver.log if entry[0] == "wait"] == [
            ("wait", 0, second.stream_id)
        ] * 2
        second.synchronize()
        assert event.query() and first.query(), "the second waited for the first"
        with tt.cuda.stream(first):
            y = x + 1
        tt.cuda.synchronize()
        assert first.query() and y.numel() == 4


def test_events_measure_time_and_wait(cuda):
    start, end = tt.cuda.Event(enable_timing=True), tt.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    assert tt.cuda.Event(blocking=True).native.native.flags == (True, True, False)
    assert start.native.native.flags == (False, False, False)
    with pytest.raises(DeviceError, match="the event is not shared with other processes"):
        start.ipc_handle()
    with pytest.raises(DeviceError, match="does not measure time"):
        tt.cuda.Event().elapsed_time(end)
    elsewhere = tt.cuda.Event()
    elsewhere.record(tt.cuda.Stream(1))
    assert str(elsewhere.device) == "cuda:1", "an event without a device is of the first stream's"
    with pytest.raises(DeviceError, match="an event of cuda:1 is not recorded in a stream of cuda:0"):
        elsewhere.record(tt.cuda.Stream(0))


def test_whoever_waits_hears_what_went_wrong_on_the_device(cuda, monkeypatch):
    heard = []
    monkeypatch.setattr(cuda.backend.failures, "raise_first", lambda: heard.append("heard"))
    stream, event = tt.cuda.Stream(), tt.cuda.Event()
    event.record(stream)
    for wait in (
        stream.synchronize,
        event.synchronize,
        tt.cuda.synchronize,
        lambda: tt.ones(1, device="cuda").cpu(),
    ):
        heard.clear()
        wait()
        assert heard


# --- other libraries -------------------------------------------------------------------------------------------


def test_memory_is_shared_by_dlpack_in_the_order_of_streams(cuda):
    x = tt.arange(4.0, device="cuda:1")
    assert x.__dlpack_device__() == (2, 1)
    capsule = x.__dlpack__(stream=5, max_version=(1, 1))
    assert cuda.driver.log[-1] == ("dlpack", 5, (1, 1), None, None)
    assert capsule.array.ctypes.data == x.data_ptr()
    theirs = cuda.cupy.asarray(np.arange(3.0))
    with tt.cuda.stream(tt.cuda.Stream()) as _:
        ours = tt.from_dlpack(theirs)
        assert cuda.driver.log[-1][:2] == ("dlpack", tt.cuda.current_stream().stream_id)
    assert ours.data_ptr() == theirs.ctypes.data and str(ours.device) == "cuda:0"
    ours.add_(1)
    np.testing.assert_array_equal(theirs.get(), [1, 2, 3])
    with pytest.raises(ExportError, match="requires a gradient"):
        tt.ones(1, device="cuda", requires_grad=True).__dlpack__()


def test_the_array_interface_names_the_stream(cuda):
    x = tt.ones(2, 3, device="cuda:1")
    found = x.__cuda_array_interface__
    assert found == {
        "typestr": "<f4", "shape": (2, 3), "strides": None, "data": (x.data_ptr(), False), "stream": 1, "version": 3,
    }  # fmt: skip
    stream = tt.cuda.Stream(1)
    with tt.cuda.stream(stream):
        assert x.T.__cuda_array_interface__["stream"] == stream.stream_id
    assert x.T.__cuda_array_interface__["strides"] == (4, 12)

    class Theirs:
        __cuda_array_interface__ = found

    shared = tt.as_tensor(Theirs())
    assert shared.data_ptr() == x.data_ptr() and str(shared.device) == "cuda:1"
    with pytest.raises(GradientError, match="would lose it"):
        _ = tt.ones(1, device="cuda", requires_grad=True).__cuda_array_interface__
    assert not hasattr(tt.ones(1), "__cuda_array_interface__")


# --- ranges ----------------------------------------------------------------------------------------------------


def test_names_of_pytorch_that_say_the_same_in_another_way(cuda):
    assert tt.cuda.default_generators == (tt.cuda.default_generators[0],) * 2
    tt.cuda.default_generators[1].manual_seed(9)
    assert tt.cuda.initial_seed() == 9
    made = tt.cuda.Stream()
    assert tt.cuda.get_stream_from_external(made.stream_id).stream_id == made.stream_id
    assert tt.cuda.is_tf32_supported()
    with tt.cuda.profiler.profile():
        tt.ones(1, device="cuda")
    assert [entry for entry in cuda.driver.log if entry[0].startswith("profiler")] == [
        ("profiler start",), ("profiler stop",),
    ]  # fmt: skip


def test_events_are_shared_with_other_processes(cuda):
    side = tt.cuda.Stream()
    event = tt.cuda.Event(interprocess=True)
    assert event.native.native.flags == (False, True, True)
    handle = event.ipc_handle()
    opened = tt.cuda.Event.from_ipc_handle("cuda:0", handle)  # as another process does
    assert isinstance(opened, tt.cuda.Event) and opened.device == event.device and opened.query()
    with cuda.driver.hold(), tt.cuda.stream(side):
        tt.ones(3, device="cuda")
        event.record()
    assert not opened.query()
    tt.cuda.current_stream().wait_event(opened)
    opened.synchronize()
    assert opened.query() and event.query()
    opened.record(side)
    assert event.native.native._work is cuda.driver.work(side.stream_id)
    with pytest.raises(DeviceError, match="none of an event"):
        tt.cuda.Event.from_ipc_handle("cuda:0", b"something else")
    with pytest.raises(ArgumentError, match="must be bytes, not str"):
        tt.cuda.Event.from_ipc_handle("cuda:0", "handle")
    with pytest.raises(DeviceError, match="does not measure time"):
        tt.cuda.Event(enable_timing=True, interprocess=True)
    with pytest.raises(DeviceError, match="the event is not shared"):
        opened.ipc_handle()
