"""Devices, streams, events, copies and exchange with other libraries, on two fake devices."""

from __future__ import annotations

import gc
import threading
import warnings

import numpy as np
import pytest

import tt
from tests.backends.cuda.devices import fake_cuda
from tt.errors import (
    ArgumentError,
    DeviceError,
    DeviceMismatchError,
    ExportError,
    GradientError,
    ValueRangeError,
)


@pytest.fixture
def cuda():
    with fake_cuda() as found:
        yield found
        gc.collect()


# --- devices ---------------------------------------------------------------------------------------------------


def test_results_are_on_the_device_of_their_tensors(cuda):
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda:1")
    target = tt.empty(2, 2, device="cuda:1")
    results = [
        x + 1, x.sum(), x[0], x.T, x.reshape(4), tt.cat([x, x]), x > 2, x.exp().add_(1), tt.add(x, x, out=target),
        tt.zeros_like(x), x.new_ones(3), x.max(0).values, x.nonzero(), x[x > 1], x.to(tt.int64), x.clone(),
        tt.softmax(x, 0), x @ x, *tt.unbind(x),
    ]  # fmt: skip
    assert {str(result.device) for result in results} == {"cuda:1"}
    assert {cuda.backend.index_of(result._handle) for result in results} == {1}
    with tt.cuda.device(1):
        assert str(tt.ones(2, device="cuda").device) == "cuda:1"
    for made in (
        tt.rand(2, device="cuda:1"),
        tt.arange(3, device="cuda:1"),
        tt.full((2,), 3, device="cuda:1"),
    ):
        assert str(made.device) == "cuda:1" and cuda.backend.index_of(made._handle) == 1
    w = tt.ones(2, 2, device="cuda:1", requires_grad=True)
    (w * x).sum().backward()
    assert str(w.grad.device) == "cuda:1" and tt.cuda.memory_allocated(0) == 0
    np.testing.assert_array_equal(w.grad.cpu().numpy(), [[1, 2], [3, 4]])
    with pytest.raises(DeviceMismatchError, match="these lie on cuda:1 and cuda:0"):
        x + x.to("cuda:0")


def test_the_current_device_belongs_to_a_thread(cuda):
    tt.cuda.set_device(1)
    assert tt.cuda.current_device() == 1
    seen = []
    thread = threading.Thread(
        target=lambda: seen.append((tt.cuda.current_device(), str(tt.ones(1, device="cuda").device)))
    )
    thread.start()
    thread.join()
    assert seen == [(0, "cuda:0")]
    with tt.cuda.device_of(tt.ones(1, device="cuda:0")):
        assert tt.cuda.current_device() == 0
        with tt.cuda.device(None), tt.cuda.device(-1), tt.cuda.device_of(tt.ones(1)):
            assert tt.cuda.current_device() == 0
    assert tt.cuda.current_device() == 1
    tt.cuda.set_device("cuda:0")
    for wrong, message in (("cpu", "Expected a cuda device, but got: cpu"), (2, "there are 2 devices")):
        with pytest.raises(DeviceError, match=message):
            tt.cuda.set_device(wrong)


def test_a_device_tells_of_itself(cuda):
    assert (tt.cuda.device_count(), tt.cuda.get_device_name(1)) == (2, "Fake GPU 1")
    found = tt.cuda.get_device_properties("cuda:1")
    assert (found.total_memory, found.details["multi_processor_count"]) == (cuda.driver.memory, 132)
    assert tt.cuda.get_device_capability() == (9, 0) and tt.cuda.is_bf16_supported(including_emulation=False)
    assert tt.cuda.can_device_access_peer(0, 1) and not tt.cuda.can_device_access_peer(0, 0)
    tt.cuda.init()
    assert tt.cuda.is_initialized() and tt.cuda.get_allocator_backend() == "native"
    assert len(tt.cuda.get_rng_state_all()) == 2
    tt.cuda.set_rng_state_all(tt.cuda.get_rng_state_all())
    tt.cuda.ipc_collect()


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


# --- copies ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", [tt.float32, tt.bfloat16, tt.bool, tt.complex64, tt.int8])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_elements_survive_the_way_to_devices_and_back(cuda, dtype, non_blocking):
    x = tt.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    there = x.to("cuda", non_blocking=non_blocking)
    other = there.to("cuda:1", non_blocking=non_blocking)
    back = other.to("cpu", non_blocking=non_blocking)
    tt.cuda.synchronize()
    assert tt.equal(back, x) and back.dtype is dtype and str(other.device) == "cuda:1"
    turned = there.T.to("cuda:1").cpu()
    assert tt.equal(turned, x.T)
    assert tt.equal(x.T.cuda(1, non_blocking=non_blocking).cpu(), x.T)
    empty = tt.empty(0, 3, dtype=dtype).cuda().to("cuda:1").cpu()
    assert empty.shape == (0, 3)


def test_factories_make_page_locked_memory(cuda):
    w = tt.zeros(2, 3, pin_memory=True, requires_grad=True)
    assert w.is_pinned() and w.requires_grad and w.is_leaf and w.tolist() == [[0.0] * 3] * 2
    assert tt.tensor([1, 2], pin_memory=True).is_pinned() and tt.zeros_like(w, pin_memory=True).is_pinned()
    assert tt.randn(3, pin_memory=True).is_pinned() and not tt.randn(3, pin_memory=False).is_pinned()
    with pytest.raises(DeviceError, match="only dense CPU tensors can be pinned, not one on cuda:0"):
        tt.zeros(2, device="cuda", pin_memory=True)


def test_page_locked_memory_is_copied_while_the_program_goes_on(cuda):
    x = tt.arange(6.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and pinned.pin_memory() is pinned and tt.equal(pinned, x)
    with cuda.driver.hold():
        there = pinned.to("cuda", non_blocking=True)
        assert not tt.cuda.current_stream().query()
        back = there.to("cpu", non_blocking=True)
        assert back.is_pinned() and not tt.equal(back, x), "nothing has been copied so far"
        tt.cuda.current_stream().synchronize()
    assert tt.equal(back, x)
    with cuda.driver.hold():
        pinned.to("cuda")
        assert tt.cuda.current_stream().query(), "without non_blocking the source may be changed at once"


def test_both_ends_are_kept_until_a_copy_is_done(cuda):
    pinned = tt.full((4,), 7.0).pin_memory()
    with cuda.driver.hold():
        there = pinned.to("cuda", non_blocking=True)
        pending = cuda.backend.transfers._pending
        kept = pending[0][1][0]
        assert kept.ctypes.data == pinned.data_ptr() and pending[0][1][1] is there._handle.owner
        del pinned
        assert there.cpu().tolist() == [7.0] * 4
    tt.ones(1).pin_memory().to("cuda", non_blocking=True)
    assert len(pending) == 1, "what is done is let go by the next copy"


def test_copies_into_tensors_go_straight_to_the_other_side(cuda):
    target = tt.zeros(2, 3, device="cuda")
    version = target._version
    target.copy_(tt.ones(2, 3))
    assert target.tolist() == [[1.0] * 3] * 2 and target._version == version + 1
    host = tt.zeros(2, 3).pin_memory()
    with cuda.driver.hold():
        host.copy_(target, non_blocking=True)
        assert not host.any()
        tt.cuda.synchronize()
    assert host.all() and host._version >= 1
    target.T.copy_(tt.full((3, 2), 5.0))  # not contiguous: by way of a tensor in between
    target[0].copy_(tt.tensor([1, 2, 3]))
    assert target.tolist() == [[1, 2, 3], [5, 5, 5]]
    tt.zeros(3, device="cuda:1").copy_(target[0])
    leaf = tt.ones(3, requires_grad=True)
    there = tt.zeros(3, device="cuda").copy_(leaf)
    (there * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3


def test_copies_between_devices_are_ordered_behind_both_streams(cuda):
    x = tt.ones(3, device="cuda:0")
    here, there = tt.cuda.Stream(0), tt.cuda.Stream(1)
    cuda.driver.log.clear()
    with tt.cuda.stream(here), tt.cuda.stream(there):
        y = x.to("cuda:1")
    steps = [entry[:3] for entry in cuda.driver.log]
    assert steps == [("wait", 0, here.stream_id), ("memcpyPeerAsync", 1, 0), ("wait", 1, there.stream_id)]
    assert cuda.driver.peers == {(0, 1)} and y.tolist() == [1.0] * 3
    before = cuda.driver.calls["streamSynchronize"]
    x.to("cuda:1")
    assert cuda.driver.calls["streamSynchronize"] == before, "the host waits for no copy between devices"


def test_what_cannot_be_pinned_is_refused(cuda, monkeypatch):
    with pytest.raises(DeviceError, match="only dense CPU tensors can be pinned, not one on cuda:0"):
        tt.ones(1, device="cuda").pin_memory()
    with pytest.raises(DeviceError, match="has no page-locked memory"):
        tt.ones(1).pin_memory("cpu")
    assert not tt.ones(1, device="cuda").is_pinned() and not tt.empty(0).is_pinned()
    monkeypatch.setattr(cuda.backend, "available", lambda: "it is gone")
    with pytest.raises(DeviceError, match="there is no accelerator"):
        tt.ones(1).pin_memory()


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


# --- hidden synchronisation ------------------------------------------------------------------------------------

WAITING = {
    "item": lambda x: x.sum().item(), "cpu": lambda x: x.cpu(), "repr": repr, "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 1], "tolist": lambda x: x.tolist(), "bool": lambda x: bool(x[0] > 0),
    "unique": lambda x: x.unique(), "pinned": lambda x: tt.ones(3).pin_memory().to("cuda"),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", WAITING)
def test_waiting_is_told_of_where_it_is_asked_for(cuda, name):
    x = tt.tensor([1.0, 2.0, 3.0], device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WAITING[name](x)
    tt.cuda.set_sync_debug_mode("warn")
    with pytest.warns(UserWarning, match="called a synchronizing CUDA operation") as caught:
        WAITING[name](x)
    assert caught[0].filename == __file__
    tt.cuda.set_sync_debug_mode("error")
    assert tt.cuda.get_sync_debug_mode() == 2
    with pytest.raises(DeviceError, match="called a synchronizing CUDA operation"):
        WAITING[name](x)
    tt.cuda.set_sync_debug_mode(0)
    WAITING[name](x)


def test_what_does_not_wait_is_not_told_of(cuda):
    x = tt.tensor([1.0, 2.0, 3.0], device="cuda")
    pinned = tt.ones(3).pin_memory()
    tt.cuda.set_sync_debug_mode(2)
    y = (x * 2 + pinned.to("cuda", non_blocking=True)).sum()
    y.to("cpu", non_blocking=True)
    tt.ones(3).to("cuda")
    x.to("cuda:1")
    tt.cuda.set_sync_debug_mode(0)
    assert y.item() == 15
    for wrong in ("loud", 3, True, None):
        with pytest.raises(ValueRangeError, match="invalid value of debug_mode"):
            tt.cuda.set_sync_debug_mode(wrong)


# --- ranges ----------------------------------------------------------------------------------------------------


def test_ranges_nest_and_every_operator_has_one(cuda):
    x = tt.ones(2, 3, device="cuda")
    log = cuda.driver.log
    log.clear()
    assert tt.cuda.nvtx.range_push("outer") == 0
    with tt.cuda.nvtx.range("step {}", 3):
        tt.cuda.nvtx.mark("here")
    assert tt.cuda.nvtx.range_pop() == 0
    tt.cuda.nvtx.range_end(tt.cuda.nvtx.range_start("apart"))
    assert log == [("push", "outer"), ("push", "step 3"), ("mark", "here"), ("pop",), ("pop",),
                   ("range start", "apart"), ("range end", 6)]  # fmt: skip
    log.clear()
    with tt.autograd.profiler.emit_nvtx(record_shapes=True):
        x.exp()
    with tt.autograd.profiler.emit_nvtx(enabled=False):
        x.exp()
    with pytest.raises(RuntimeError), tt.autograd.profiler.emit_nvtx():
        x.reshape(7)
    pushed = [entry[1] for entry in log if entry[0] == "push"]
    assert pushed == ["tt::exp, sizes = [[2, 3]]", "tt::reshape"]
    assert [entry[0] for entry in log].count("pop") == 2


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
