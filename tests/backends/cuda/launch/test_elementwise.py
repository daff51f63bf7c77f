"""Layouts of operands and results of kernels that work element by element, run on the host."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.backends.cuda.kernels import values
from tests.backends.cuda.pointwise.test_arithmetic import kernel
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.launch.elementwise import collapse, run
from tt.core.errors import ShapeError


def test_dimensions_collapse_as_far_as_all_operands_allow():
    assert collapse((4, 1, 5), [(5, 5, 1), (5, 9, 1)]) == ((20,), ((1,), (1,)))
    assert collapse((4, 5), [(1, 4), (1, 4)]) == ((20,), ((1,), (1,)))  # both transposed
    assert collapse((4, 5), [(5, 1), (1, 4)]) == ((4, 5), ((5, 1), (1, 4)))
    assert collapse((), [(), ()]) == ((), ((), ()))


@pytest.mark.parametrize(
    ("shapes", "kind"),
    [
        ([(8, 64), (8, 64)], "flat"),
        ([(8, 64), (64,)], "rows"),
        ([(8, 64), (8, 1)], "rows"),
        ([(8, 64), ()], "rows"),
        ([(8, 63), (63,)], "strided"),
        ([(3, 8, 64), (3, 1, 64)], "strided"),
        ([(), ()], "flat"),
    ],
)
def test_layouts_are_served_by_the_kernel_for_them(host_backend, shapes, kind):
    arrays = [np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in shapes]
    found = run(host_backend, "Add", [host_backend.normalise(a) for a in arrays], np.dtype(np.float32))
    np.testing.assert_array_equal(found.array, arrays[0] + arrays[1])
    assert host_backend.engine.launches[-1][0].startswith(f"pointwise_{kind}<Add")


def test_addresses_between_vectors_are_served_too(host_backend):
    base = host_backend.normalise(np.arange(1001, dtype=np.float32))
    shifted = base.view((1000,), (1,), 1)
    found = run(host_backend, "Add", [shifted, shifted], np.dtype(np.float32))
    np.testing.assert_array_equal(found.array, np.arange(1, 1001) * 2)
    assert host_backend.engine.launches[-1][0].startswith("pointwise_strided<Add")


def test_results_keep_the_order_of_dimensions(host_backend):
    base = host_backend.normalise(np.zeros((2, 3, 4), np.float32))
    turned = base.view((4, 2, 3), (1, 12, 4))
    found = run(host_backend, "Add", [turned, turned], np.dtype(np.float32))
    assert found.strides == (1, 12, 4)
    assert host_backend.engine.launches[-1][0].startswith("pointwise_flat<Add")
    assert run(host_backend, "Neg", [base.view((1, 3, 2), (7, 1, 3))], base.dtype).strides[1:] == (1, 3)


def test_more_dimensions_than_a_kernel_takes(host_backend):
    x = np.arange(2**10, dtype=np.float32).reshape([2] * 10)
    y = x.transpose(range(9, -1, -1))
    found = run(host_backend, "Add", [host_backend.normalise(x), host_backend.normalise(y)], x.dtype)
    np.testing.assert_array_equal(found.array, x + y)


def test_an_operand_that_the_result_overlaps_is_read_first(host_backend):
    base = host_backend.normalise(np.arange(101, dtype=np.float32))
    first = base.view((100,), (1,))
    run(host_backend, "Add", [first, first], base.dtype, (), base.view((100,), (1,), 1))
    np.testing.assert_array_equal(base.array, [0, *(np.arange(100) * 2)])


def test_a_target_of_another_shape_is_refused(host_backend):
    column, row = (host_backend.normalise(np.ones(shape, np.float32)) for shape in [(2, 1), (1, 3)])
    with pytest.raises(ShapeError, match=r"the result has the shape \(2, 3\), and its target \(2, 1\)"):
        run(host_backend, "Mul", [column, row], column.dtype, (), column)


def test_nothing_is_launched_for_nothing(host_backend):
    empty = host_backend.normalise(np.zeros((0, 3), np.float32))
    before = len(host_backend.engine.launches)
    assert run(host_backend, "Add", [empty, empty], empty.dtype).shape == (0, 3)
    assert len(host_backend.engine.launches) == before


@st.composite
def views(draw, shape):
    """A view of the shape, or one that broadcasts to it: permuted, stepped, turned round, spread."""
    own = [1 if draw(st.integers(0, 4)) == 0 else n for n in shape]
    own = own[draw(st.integers(0, len(own))) :]
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in own]
    order = draw(st.permutations(range(len(own))))
    large = [own[d] * abs(steps[d]) for d in order]
    base = np.random.default_rng(draw(st.integers(0, 99))).integers(-99, 99, large).astype(np.float32)
    view = base.transpose(np.argsort(order)) if own else base
    return view[(..., *(slice(None, None, step) for step in steps))]


@pytest.mark.exhaustive
@settings(max_examples=150, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 9), max_size=4))
def test_operands_of_any_layout(host_engine, data, shape):
    backend = CudaBackend(HostMemory(), lambda: np, host_engine)
    x, y = data.draw(views(shape)), data.draw(views(shape))
    expected = x * 2 + y
    handles = [backend.normalise(x), backend.normalise(y)]
    double = run(backend, "Add", handles[:1] * 2, x.dtype)
    np.testing.assert_array_equal(run(backend, "Add", [double, handles[1]], x.dtype).array, expected)
    # Written into a view that is turned round and has gaps; what lies between stays.
    room = np.full((*y.shape[::-1], 2), 7, np.float32)
    target = room.transpose(*range(y.ndim - 1, -1, -1), y.ndim)[..., 1]
    run(backend, "AddScaledRight", handles[1:], x.dtype, (3, 2), backend.normalise(target))
    np.testing.assert_array_equal(target, y + 6)
    assert (room[..., 0] == 7).all()


def test_tensors_of_bfloat16_are_served(host_backend):
    x = values("bfloat16", (33,), 3)
    found = kernel(host_backend, "mul", "bfloat16")(host_backend.normalise(x), 3)
    expected = (x.astype(np.float32) * 3).astype(x.dtype).astype(np.float32)
    np.testing.assert_array_equal(found.array.astype(np.float32), expected)
    assert tt.bfloat16.name == found.dtype.name
