"""Devices: the current one, that of results, and what each says of itself."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tt
from tt import array_api as xp
from tt.errors import (
    DeviceError,
    DeviceMismatchError,
)


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


def test_a_device_without_a_number_is_the_current_one_as_in_pytorch(cuda):
    x = tt.ones(2, device="cuda:1")
    moved = [
        x.to("cuda"),
        x.cuda(),
        x.to("cuda", tt.float64),
        xp.asarray(x, device="cuda"),
    ]
    assert [str(tensor.device) for tensor in moved] == ["cuda:0"] * len(moved)
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray(x, device="cuda", copy=False)
    with tt.cuda.device(1):
        assert x.to("cuda") is x and x.cuda() is x and xp.asarray(x, device="cuda", copy=False) is x
    assert x.to("cuda:1") is x and str(x.to(tt.float64).device) == "cuda:1"


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
