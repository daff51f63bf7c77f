"""The strided handle: its arithmetic, checked against NumPy's own strides on host memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt.backends.cuda.handle import StridedHandle
from tt.core.errors import ValueRangeError


class HostMemory:
    """Memory of the host in place of CuPy's: the handle's arithmetic is the same for both."""

    def __init__(self) -> None:
        self.built = 0

    def allocate(self, nbytes):
        return np.zeros(nbytes, np.uint8)

    def nbytes(self, owner):
        return owner.nbytes

    def address(self, owner):
        return owner.ctypes.data

    def array(self, owner, shape, dtype, byte_strides, byte_offset):
        self.built += 1
        return np.ndarray(shape, dtype, owner, byte_offset, byte_strides)

    def describe(self, array):
        owner = array
        while owner.base is not None:
            owner = owner.base
        return owner, array.ctypes.data - owner.ctypes.data


@pytest.fixture
def memory():
    return HostMemory()


def test_no_array_is_built_until_one_is_asked_for(memory):
    handle = StridedHandle.empty(memory, (3, 4), "float32")
    view = handle.view((4, 3), (1, 4))
    assert memory.built == 0
    assert view.array.shape == (4, 3)
    assert view.array is view.array
    assert memory.built == 1


def test_views_write_to_the_memory_of_their_base(memory):
    handle = StridedHandle.empty(memory, (3, 4), "int64")
    handle.view((3,), (5,)).array[...] = [1, 2, 3]
    np.testing.assert_array_equal(handle.array, np.eye(3, 4, dtype=int) * [1, 2, 3, 0])


@given(
    shape=st.lists(st.integers(0, 4), max_size=3),
    steps=st.lists(st.sampled_from([1, 2, 3, -1, -2]), min_size=3, max_size=3),
    flip=st.booleans(),
)
def test_a_handle_of_any_numpy_view_describes_the_same_elements(shape, steps, flip):
    base = np.arange(np.prod([8] * len(shape), dtype=int)).reshape([8] * len(shape))
    view = base[(..., *(slice(None, None, step) for step in steps[: len(shape)]))]
    view = view[(..., *(slice(0, size) for size in shape))]
    view = view.T if flip else view
    memory = HostMemory()
    handle = StridedHandle.from_array(memory, view)
    rebuilt = handle.view(handle.shape, handle.strides)
    assert rebuilt.array is not view
    np.testing.assert_array_equal(rebuilt.array, view)
    assert (rebuilt.nbytes, rebuilt.data_ptr) == (view.nbytes, view.ctypes.data)
    assert handle.is_contiguous == view.flags.c_contiguous


def test_a_view_that_reaches_outside_of_the_memory_is_refused(memory):
    handle = StridedHandle.empty(memory, (3, 4), "float32")
    for shape, strides, offset in [((13,), (1,), 0), ((3,), (4,), 4), ((2,), (-1,), 0)]:
        with pytest.raises(ValueRangeError, match="of a storage of 12"):
            handle.view(shape, strides, offset)
    with pytest.raises(ValueRangeError, match="2 sizes and 1 strides"):
        handle.view((1, 1), (1,))
    assert handle.view((0, 99), (1, 1), 12).nbytes == 0


def test_handles_share_memory_when_their_spans_overlap(memory):
    handle = StridedHandle.empty(memory, (4, 4), "float32")
    top, bottom, column = handle.view((2, 4), (4, 1)), handle.view((2, 4), (4, 1), 8), handle.view((4,), (4,))
    assert handle.shares_memory(top) and top.shares_memory(column) and column.shares_memory(bottom)
    assert not top.shares_memory(bottom)
    assert not handle.shares_memory(StridedHandle.empty(memory, (4, 4), "float32"))


def test_elements_that_are_not_aligned_are_refused(memory):
    packed = np.zeros(3, np.dtype([("flag", "u1"), ("value", "f4")]))["value"]
    with pytest.raises(ValueRangeError, match="do not lie at multiples"):
        StridedHandle.from_array(memory, packed)
