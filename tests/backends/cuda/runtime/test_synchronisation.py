"""Calls that make the host wait are told of where that is asked for."""

from __future__ import annotations

import warnings

import pytest

import tt
from tt.errors import (
    DeviceError,
    ValueRangeError,
)

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
