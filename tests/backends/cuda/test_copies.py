"""Copies between any layouts and dtypes: their text, run on the host, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.backends.cuda.kernels import native, values
from tests.backends.cuda.launch.test_elementwise import views
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.copies import cast, copy_into, duplicate, tables
from tt.core.errors import NumberRangeError, ShapeError
from tt.core.types.dtype import DTYPES

pytestmark = pytest.mark.sampled(10)

NAMES = [d.name for d in DTYPES]


def backend_over(engine):
    return CudaBackend(HostMemory(), lambda: np, engine)


# --- dtypes --------------------------------------------------------------------------------------------------------


TARGETS = [
    pytest.param(
        name, marks=[] if name in ("bfloat16", "int32", "bool", "complex64") else pytest.mark.exhaustive
    )
    for name in NAMES
]


@pytest.mark.filterwarnings("ignore:complex numbers become real ones")
@pytest.mark.parametrize("target", TARGETS)
def test_every_dtype_is_converted(host_engine, target):
    backend = backend_over(host_engine)
    sources = {}
    for name in NAMES:
        found = values(name, (40,), 5)
        if native(name).kind in "fV" and native(target).kind in "biu":
            # What an integer does not hold is not defined, except that it is not an error.
            found = np.where(np.isfinite(found.astype("f8")), np.abs(found.astype("f8")), 3).astype(
                native(name)
            )
        sources[name] = found
    with host_engine.collecting():
        for found in sources.values():
            cast(backend, backend.normalise(found), native(target))
    for name, found in sources.items():
        result = cast(backend, backend.normalise(found), native(target)).array
        assert result.dtype == native(target)
        expected = tt.from_numpy(found).to(getattr(tt, target)).numpy()
        as_numbers = [a.astype("f4") if target in ("bfloat16", "float16") else a for a in (result, expected)]
        np.testing.assert_array_equal(*as_numbers, err_msg=name)


def test_every_half_is_rounded_to_the_nearest(host_backend):
    every = np.arange(2**16, dtype=np.uint16)
    for name in ("float16", "bfloat16"):
        halves = every.view(native(name))
        wide = cast(host_backend, host_backend.normalise(halves), np.dtype("f4"))
        np.testing.assert_array_equal(wide.array, halves.astype("f4"))
        # The numbers themselves, those half way to the next, and their neighbours.
        base = wide.array[np.isfinite(wide.array)]
        with np.errstate(all="ignore"):
            following = np.nextafter(halves, native(name).type(np.inf)).astype("f4")[np.isfinite(wide.array)]
            middle = ((base.astype("f8") + following.astype("f8")) / 2).astype("f4")
            near = [np.nextafter(middle, np.float32(side)) for side in (0, np.inf)]
        for numbers in (base, middle, *near):
            back = cast(host_backend, host_backend.normalise(numbers), native(name))
            with np.errstate(over="ignore"):
                expected = numbers.astype(native(name))
            np.testing.assert_array_equal(back.array.view(np.uint16), expected.view(np.uint16))


def test_doubles_are_rounded_to_halves_once(host_backend):
    # By way of float these would fall half way, and then to the even side.
    tiny = 2.0**-40
    x = np.array(
        [1 + 2.0**-11 + tiny, 1 + 2.0**-8 + tiny, 1 + 3 * 2.0**-11 - tiny, 1e300, -1e-320, np.nan, -np.inf]
    )
    half = cast(host_backend, host_backend.normalise(x), np.dtype("f2")).array
    expected = [1 + 2.0**-10, 1 + 2.0**-8, 1 + 2.0**-10, np.inf, -0.0, np.nan, -np.inf]
    np.testing.assert_array_equal(half, np.array(expected, "f2"))
    assert np.signbit(half[4])
    brain = cast(host_backend, host_backend.normalise(x), native("bfloat16")).array.astype("f4")
    np.testing.assert_array_equal(brain[:4], np.array([1, 1 + 2.0**-7, 1, np.inf], "f4"))


# --- layouts -------------------------------------------------------------------------------------------------------


SHAPES = st.lists(st.integers(1, 40), max_size=3)


@pytest.mark.exhaustive
@settings(max_examples=100, deadline=None)
@given(data=st.data(), shape=SHAPES, dtype=st.sampled_from(["float32", "uint8", "float64"]))
def test_any_view_is_copied_into_any_other(host_engine, data, shape, dtype):
    backend = backend_over(host_engine)
    source = np.asarray(data.draw(views(shape)).astype(dtype, order="K"))
    room = np.full([3 * n for n in reversed(shape)], 7, dtype)
    target = room[(..., *(slice(1, 1 + n) for n in reversed(shape)))].transpose()
    copy_into(backend, backend.normalise(target), backend.normalise(source))
    np.testing.assert_array_equal(target, np.broadcast_to(source, shape))
    assert room.size == target.size or (room == 7).sum() >= room.size - target.size


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(33, 65), (2, 64, 31), (16, 16)])
def test_transposed_copies_go_through_tiles(host_backend, dtype, shape):
    base = values(dtype, shape, 1)
    turned = base.swapaxes(-1, -2)
    target = host_backend.empty(turned.shape, base.dtype)
    copy_into(host_backend, target, host_backend.normalise(turned))
    assert host_backend.engine.launches[-1][0].startswith("transpose_tiles")
    np.testing.assert_array_equal(target.array.view(np.uint8), np.ascontiguousarray(turned).view(np.uint8))


def test_what_does_not_broadcast_is_refused(host_backend):
    target = host_backend.empty((2, 3), np.float32)
    for shape in [(3, 2), (2, 2, 3), (2,)]:
        with pytest.raises(ShapeError, match="does not broadcast to"):
            copy_into(host_backend, target, host_backend.empty(shape, np.float32))


def test_a_copy_shares_no_memory_and_keeps_the_order(host_backend):
    turned = host_backend.normalise(np.arange(6.0).reshape(2, 3).T)
    copy = duplicate(host_backend, turned)
    assert copy.strides == (1, 3) and not copy.shares_memory(turned)
    np.testing.assert_array_equal(copy.array, turned.array)


def test_overlapping_views_are_copied_as_they_were(host_backend):
    base = host_backend.normalise(np.arange(101.0))
    copy_into(host_backend, base.view((100,), (1,), 1), base.view((100,), (1,)))
    np.testing.assert_array_equal(base.array, [0, *range(100)])


# --- kernels of operators ------------------------------------------------------------------------------------------


def kernel(backend, op, count):
    ours = [k.function for table in tables(backend) for k in table.kernels if k.op == op]
    (found,) = [function for function in ours if function.__code__.co_argcount == count]
    return found


def test_copies_in_a_memory_format(host_backend):
    x = host_backend.normalise(np.arange(120.0).reshape(2, 3, 4, 5))
    last = kernel(host_backend, "clone", 2)(x, tt.channels_last)
    assert last.strides == (60, 1, 15, 3)
    np.testing.assert_array_equal(last.array, x.array)
    assert kernel(host_backend, "clone", 2)(last, tt.preserve_format).strides == last.strides
    rows = kernel(host_backend, "_to_copy", 3)(last, np.dtype("f4"), tt.contiguous_format)
    assert rows.is_contiguous and rows.dtype == np.float32
    np.testing.assert_array_equal(rows.array, x.array)


def test_fill_writes_numbers_and_tensors_of_one_element(host_backend):
    base = np.zeros((4, 6), np.int32)
    fill = kernel(host_backend, "fill", 2)
    fill(host_backend.normalise(base[:, ::2]), 3.9)
    np.testing.assert_array_equal(base, np.tile([3, 0], (4, 3)))
    fill(host_backend.normalise(base), host_backend.normalise(np.array(5.0)))
    assert (base == 5).all()
    with pytest.raises(ShapeError, match="a number or a tensor without dimensions, not one with 1"):
        fill(host_backend.normalise(base), host_backend.normalise(np.ones(1)))
    with pytest.raises(NumberRangeError, match="1j is beyond the range of int32"):
        fill(host_backend.normalise(base), 1j)


def test_complex_numbers_that_become_real_ones_warn_and_others_do_not(host_backend):
    (table,) = tables(host_backend)
    kernel = {k.op: k.function for k in table.kernels if k.form == "inplace"}
    z = host_backend.normalise(np.array([1 + 2j, 3j], np.complex64))
    real, truth = (host_backend.normalise(np.zeros(2, dtype)) for dtype in ("f4", "?"))
    for write in (
        lambda: copy_into(host_backend, real, z),
        lambda: cast(host_backend, z, np.dtype("f4")),
        lambda: kernel["copy"](real, z),
        lambda: kernel["fill"](real, z.view((), ())),
    ):
        with pytest.warns(UserWarning, match="imaginary parts are lost"):
            write()
    assert real.array.tolist() == [1.0, 1.0]
    for quiet in (lambda: kernel["copy"](truth, z), lambda: kernel["copy"](z, real)):
        quiet()  # warnings are errors
    assert truth.array.tolist() == [True, True]
