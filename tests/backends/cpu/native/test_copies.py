"""Casts, copies between memory orders, fills, choices and joining in C, against NumPy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.backends.cpu.native.loading import load, status

C: Any = load("copies")
pytestmark = pytest.mark.skipif(C is None, reason=f"native kernels are not in use: {status().reason}")

DTYPES = [
    np.dtype(name) for name in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32",
        "float64", "complex64", "complex128",
    )
] + [np.dtype(ml_dtypes.bfloat16)]  # fmt: skip


def numbers(shape: Any, dtype: Any) -> Any:
    """Return numbers that every dtype can hold, among them fractions."""
    rng = np.random.default_rng(0)
    return (rng.integers(0, 2 if dtype == np.bool_ else 100, shape) * 1.25).astype(dtype)


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_casts_to_every_dtype(source):
    for target in DTYPES:
        if source.kind == "c" and target.kind not in "cb":
            continue
        for shape in ((7,), (33, 70), (3, 1, 5), (), (0, 3)):
            x = np.asarray(numbers(shape, source))
            for view in (x, x.T, x[::-1] if x.ndim else x, np.broadcast_to(x[:1], x.shape) if x.ndim else x):
                wanted = view.astype(target, order="C" if 0 in view.strides else "K")
                found = C.to_copy(view, target)
                assert (found.dtype, found.strides) == (target, wanted.strides)
                assert found.tobytes() == wanted.tobytes()


def test_every_half_becomes_the_same_float_and_comes_back():
    bits = np.arange(65536, dtype=np.uint16)
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        halves = bits.view(dtype)
        wide = C.to_copy(halves, np.dtype(np.float32))
        with np.errstate(invalid="ignore"):  # which some processors report of a NaN that signals
            wanted = halves.astype(np.float32)
        np.testing.assert_array_equal(wide, wanted)
        number = ~np.isnan(wide)
        np.testing.assert_array_equal(C.to_copy(wide, dtype).view(np.uint16)[number], bits[number])


def test_floats_are_rounded_to_the_nearest_half():
    x = np.random.default_rng(0).integers(0, 2**32, 1_000_000, dtype=np.uint32).view(np.float32)
    number = ~np.isnan(x)
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        with np.errstate(all="ignore"):
            wanted = x.astype(dtype)
        found = C.to_copy(x, dtype)
        np.testing.assert_array_equal(found.view(np.uint16)[number], wanted.view(np.uint16)[number])
        assert np.isnan(found.astype(np.float32)[~number]).all()


@given(st.data())
def test_copies_between_any_memory_orders(data):
    ndim = data.draw(st.integers(1, 4))
    shape = [data.draw(st.integers(0, 70 if ndim < 3 else 9)) for _ in range(ndim)]
    dtype = data.draw(st.sampled_from(DTYPES))
    source = numbers(shape, dtype).transpose(data.draw(st.permutations(range(ndim))))
    order: Any = data.draw(st.sampled_from("CF"))
    target = np.zeros(source.shape, dtype, order=order)
    if data.draw(st.booleans()):
        target = np.zeros([2 * n for n in source.shape], dtype)[
            tuple(slice(None, None, 2) for _ in source.shape)
        ]
    C.copy(target, source)
    np.testing.assert_array_equal(target, source)
    np.testing.assert_array_equal(C.clone(source), source)


def test_a_source_is_repeated_to_the_shape_of_the_target():
    target = np.zeros((2, 3, 4))
    C.copy(target, np.arange(3.0).reshape(3, 1))
    np.testing.assert_array_equal(target, np.broadcast_to(np.arange(3.0).reshape(3, 1), (2, 3, 4)))
    with pytest.raises(ValueError, match="broadcast"):
        C.copy(np.zeros(3), np.zeros(2))


def test_memory_that_overlaps_is_read_before_it_is_written():
    x = np.arange(100_000.0)
    C.copy(x[1:], x[:-1])
    assert x[0] == 0 and (x[1:] == np.arange(99_999.0)).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fills(dtype):
    for value in (1, True, 1.0):
        target = np.zeros((5, 40), dtype)
        C.fill(target[:, ::2], value)
        assert (target[:, ::2] == np.asarray(1, dtype)).all() and not target[:, 1::2].any()
        C.fill(target, np.asarray(0, np.int64))
        assert not target.any()


def test_numbers_that_do_not_fit_are_refused_as_by_the_kernel_in_python():
    with pytest.raises(ValueError, match="300 is beyond the range of uint8"):
        C.fill(np.zeros(2, np.uint8), 300)
    assert tt.zeros(2, dtype=tt.int8).fill_(-2.75).tolist() == [-2, -2]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_choices_by_a_mask(dtype):
    mask = np.random.default_rng(1).integers(0, 2, (40, 30)).astype(bool)
    a, b = numbers((40, 30), dtype), numbers((30,), dtype)
    np.testing.assert_array_equal(C.where(mask, a, b), np.where(mask, a, b))
    np.testing.assert_array_equal(C.where(mask.T, a.T, 1), np.where(mask.T, a.T, np.asarray(1, dtype)))
    np.testing.assert_array_equal(C.where(mask[:, :1], 0, a), np.where(mask[:, :1], np.asarray(0, dtype), a))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_joining_along_any_dimension(dim):
    parts = [
        numbers((3, 4, 5), "float32"),
        numbers((3, 4, 10), "float32")[..., ::2],
        np.zeros((0,), "float32"),
    ]
    parts.append(numbers((5, 4, 3), "float32").T)
    found = C.cat(parts, dim)
    np.testing.assert_array_equal(found, np.concatenate([p for p in parts if p.ndim > 1], dim))
    assert found.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128"])
def test_joining_contiguous_arrays_of_long_rows(dtype):
    for widths in ((300, 300), (64, 1000, 0, 257), (400,) * 17, (300, 5)):
        for shape in ((6, 7), (50,), (1,)):
            parts = [numbers((*shape, width), dtype) for width in widths]
            np.testing.assert_array_equal(C.cat(parts, -1), np.concatenate(parts, -1))
            found = C.cat([*parts, parts[0][..., ::-1]], -1)
            np.testing.assert_array_equal(found, np.concatenate([*parts, parts[0][..., ::-1]], -1))


def test_complex_numbers_from_their_parts():
    a, b = numbers((7, 1), "float32"), numbers((3,), "float32")
    found = C.complex(a, b)
    assert found.dtype == np.complex64
    np.testing.assert_array_equal(found, a + 1j * b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 64, 65])
def test_elements_that_are_repeated(times, dtype):
    for x in (
        numbers(2000, dtype),
        numbers((2000, 2), dtype)[:, 1],
        numbers((40, 50), dtype),
        numbers((40, 50), dtype).T,
    ):
        view = np.broadcast_to(x[..., None], (*x.shape, times))
        assert C.clone(view).tobytes() == view.tobytes()
        assert np.array_equal(C.to_copy(view, np.dtype(np.complex128)), view.astype(np.complex128))
        out = np.zeros((*x.shape, times + 1), dtype)
        C.copy(out[..., :times], view)
        assert np.array_equal(out[..., :times], view)
        assert not out[..., times].any()


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 100, 1025])
def test_runs_in_any_steps(dtype, count):
    """Repeated, backwards, every other one and every third one: each has a loop of its own."""
    x = (np.arange(3 * count + 3) % 251).astype(dtype)
    for view in (
        x[:count][::-1],
        x[: 2 * count : 2],
        x[: 3 * count : 3],
        np.broadcast_to(x[1], (count,)),
        x[::-2],
    ):
        new = np.empty(view.shape, dtype)
        C.copy(new, view)
        np.testing.assert_array_equal(new, view)
    rows = np.broadcast_to(x[:3, None], (3, 500))
    new = np.empty(rows.shape, dtype)
    C.copy(new, rows)
    np.testing.assert_array_equal(new, rows)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, float("nan")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fill_keeps_the_bits_of_its_value(value, dtype):
    x = tt.ones(1000, dtype=getattr(tt, dtype)).fill_(value).numpy()
    wanted = np.full(1000, value, dtype)
    assert x.tobytes() == wanted.tobytes()
