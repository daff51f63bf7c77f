"""Reading tensors on the host, and their arrays for those who write kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY, handle_of

INTERNALS = {
    "base",
    "bump_version",
    "ensure_storage",
    "handle",
    "keys",
    "promotion",
    "record",
    "set_data",
    "spec",
}


def test_the_handle_is_the_array_of_the_backend_and_shares_the_memory() -> None:
    x = tt.zeros(2, 3)
    array = handle_of(x.t())
    assert type(array) is np.ndarray and array.shape == (3, 2)
    array[1, 0] = 5
    assert x[0, 1] == 5


def test_the_handle_of_a_view_without_memory_is_up_to_date() -> None:
    strict = pytest.importorskip("array_api_strict")
    from tt.library import ArrayApiBackend

    tt.ones(1)
    backend = ArrayApiBackend(strict, "apart")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    try:
        x = tt.zeros(4, device="apart")
        view = x[1:3]
        x.add_(2)
        assert np.asarray(handle_of(view)).tolist() == [2.0, 2.0]
    finally:
        for handle in reversed(handles):
            handle.remove()


def test_what_is_no_tensor_has_no_handle() -> None:
    wrong: Any = [1, 2]
    with pytest.raises(TypeError, match="takes a tensor, not list"):
        handle_of(wrong)


def test_what_the_dispatcher_keeps_is_private() -> None:
    x = tt.ones(2)
    assert not INTERNALS & set(dir(x))
    for name in INTERNALS:
        with pytest.raises(AttributeError):
            getattr(x, name)
