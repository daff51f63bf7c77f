"""`set_sync_debug_mode` knows every kernel that makes the host wait, and no other."""

from __future__ import annotations

import os

import tt
from tests.backends.cuda.emulation import KERNELS
from tests.backends.cuda.waits import Watch
from tt.core.library import REGISTRY
from tt.testing.conformance import check_target, targets

WATCH = Watch()


def test_kernels_that_wait_say_so_and_no_others_do():
    from tt.backends.cuda.kernels import WAITS

    tt.zeros(1, device="cuda")
    own = [
        op for op, found in REGISTRY.kernels.items()
        if any(r.device == "cuda" and r.layouts == ("strided",) for r in found)
    ]  # fmt: skip
    for target in targets("cuda", own, ["float32", "int64"]):
        assert not check_target(target, "cuda", checks=["runs"]).failures
    assert len(WATCH.called) > 150
    assert not WATCH.silent, "they wait for the device and do not say so"
    assert not WATCH.said - WATCH.waited, "they say that they wait and never do"
    if os.environ.get(KERNELS) == "0":
        assert WATCH.waited == WAITS, "the list is what waits"


def test_a_wait_is_told_of_in_the_mode_that_asks_for_it():
    x = tt.eye(3, device="cuda")
    tt.cuda.set_sync_debug_mode("error")
    try:
        tt.linspace(0, 1, 5, device="cuda")
        for function in (tt.linalg.inv, tt.linalg.svd, tt.linalg.eigh):
            try:
                function(x)
            except tt.errors.DeviceError as error:
                assert "linalg_" in str(error) and "waits for the device" in str(error)
            else:
                raise AssertionError(f"{function} waits for the device and was let")
    finally:
        tt.cuda.set_sync_debug_mode("default")
