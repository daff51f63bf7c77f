"""Copies between the host and devices, and page-locked memory, on two fake devices."""

from __future__ import annotations

import pytest

import tt
from tt.errors import (
    DeviceError,
)


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
    assert len(pending) == 1, "finished copies are let go by the next one"


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
    with pytest.raises(DeviceError, match="no accelerator is available"):
        tt.ones(1).pin_memory()
