"""The check of indices on CUDA, over NumPy's arrays; the emulated device's tests run it behind every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.plugins.sparse.making import LAYOUTS, matrix, sparse_of
from tt.core.library import errors
from tt.plugins.sparse.cuda.bounds import check_indices
from tt.plugins.sparse.layouts import CooHandle, CsrHandle

CHANGES: dict[str, Callable[[Any], Any]] = {
    "beyond": lambda handle: _plain(handle).fill(10**8),
    "negative": lambda handle: _plain(handle).fill(-1),
    "a start beyond": lambda handle: handle.compressed[..., 1:2].fill(10**8),
    "a negative start": lambda handle: handle.compressed[..., 1:2].fill(-1),
    "a first start": lambda handle: handle.compressed[..., :1].fill(1),
    "elements in no row": lambda handle: handle.compressed.fill(0),
}


def _plain(handle: Any) -> Any:
    return handle.indices[1] if isinstance(handle, CooHandle) else handle.plain


def copied(layout: str, array: Any) -> Any:
    """Return a handle whose indices are its own."""
    handle = sparse_of(layout, array)._handle
    for name in ("indices", "compressed", "plain"):
        if hasattr(handle, name):
            setattr(handle, name, getattr(handle, name).copy())
    return handle


@pytest.mark.parametrize("layout", LAYOUTS)
def test_right_indices_are_accepted(layout: str) -> None:
    check_indices(copied(layout, matrix(1)))
    check_indices(copied(layout, np.zeros((4, 6))))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_changed_indices_are_refused(layout: str, change: str) -> None:
    handle = copied(layout, matrix(1))
    if isinstance(handle, CooHandle) and change not in ("beyond", "negative"):
        assert not hasattr(handle, "compressed")
        return
    CHANGES[change](handle)
    with pytest.raises(errors.IndexValueError, match="out of range, or out of order"):
        check_indices(handle)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_each_matrix_of_a_batch_is_checked(dtype: Any) -> None:
    starts, plain = np.array([[0, 1, 2], [0, 1, 2]], dtype), np.array([[0, 1], [0, 1]], dtype)
    handle = CsrHandle(starts, plain, np.ones((2, 2)), (2, 2, 2))
    check_indices(handle)
    for array, value in ((starts, 3), (plain, 2), (plain, -1)):
        before = array[1, 1]
        array[1, 1] = value
        with pytest.raises(errors.IndexValueError):
            check_indices(handle)
        array[1, 1] = before


def test_an_element_without_an_index_is_refused() -> None:
    handle = CsrHandle(np.array([0, 1, 2]), np.array([0, 1]), np.ones(1), (2, 2))
    with pytest.raises(errors.IndexValueError):
        check_indices(handle)
    with pytest.raises(errors.IndexValueError):
        check_indices(CooHandle(np.array([[0, 1]]), np.ones(1), (2,)))
