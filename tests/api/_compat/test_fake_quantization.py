"""Rounding to quantized values, against torch."""

from __future__ import annotations

import pytest

import tt

GRIDS = ((0.25, 3, 0, 7), (0.3, 0, -128, 127), (0.1, -5, -8, 7), (1 / 3, 128, 0, 255))
NUMBERS = [-3.0, -1.26, -1.25, 0.0, 0.124, 0.125, 0.126, 0.375, 0.55, 0.65, 1.3, 5.0]
EDGES = [float("nan"), float("inf"), -float("inf")]


def rounded(library, name, dtype, numbers, *args):
    """Return the rounded numbers and the gradient of their sum."""
    x = library.tensor(numbers, dtype=getattr(library, dtype), requires_grad=True)
    found = getattr(library, name)(x, *(a(library) if callable(a) else a for a in args))
    assert found.dtype == x.dtype
    found.sum().backward()
    return found.tolist(), x.grad.tolist()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("grid", GRIDS)
def test_tensors_are_rounded_as_in_torch(grid, dtype):
    torch = pytest.importorskip("torch")
    scale, zero, low, high = grid
    forms = ((scale, zero), (lambda t: t.tensor(scale), lambda t: t.tensor(zero)))
    for first, second in forms:
        found, expected = (
            rounded(
                library, "fake_quantize_per_tensor_affine", dtype, NUMBERS + EDGES, first, second, low, high
            )
            for library in (tt, torch)
        )
        assert found == expected


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("kind", "zeros"), [("int32", [3, 2]), ("float32", [0.5, 1.25]), ("float16", [0.5, 1.25])]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_channels_are_rounded_as_in_torch(kind, zeros, axis, dtype):
    torch = pytest.importorskip("torch")
    numbers = (
        [NUMBERS[:6], NUMBERS[6:]]
        if axis == 0
        else [list(pair) for pair in zip(NUMBERS[:6], NUMBERS[6:], strict=True)]
    )
    found, expected = (
        rounded(
            library,
            "fake_quantize_per_channel_affine",
            dtype,
            numbers,
            lambda t: t.tensor([0.25, 0.1]),
            lambda t: t.tensor(zeros, dtype=getattr(t, kind)),
            axis,
            -4,
            7,
        )
        for library in (tt, torch)
    )
    assert found == expected


ONES = ((1.0, 1.0), (1.0, 1.0))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda x: tt.fake_quantize_per_tensor_affine(x, 0.3, 10, 0, 7), RuntimeError),
        (lambda x: tt.fake_quantize_per_tensor_affine(x, 0.3, 1, 9, 7), RuntimeError),
        (lambda x: tt.fake_quantize_per_tensor_affine(x.int(), 0.3, 1, 0, 7), RuntimeError),
        (lambda x: tt.fake_quantize_per_tensor_affine([1.0], 0.3, 1, 0, 7), TypeError),
        (lambda x: channels(x, zeros=tt.tensor([9, 0], dtype=tt.int32)), RuntimeError),
        (lambda x: channels(x, zeros=tt.tensor([0, 0])), RuntimeError),
        (lambda x: channels(x, scale=tt.ones(3)), RuntimeError),
        (lambda x: channels(x, scale=tt.ones(2, dtype=tt.float64)), RuntimeError),
        (lambda x: channels(x, axis=2), IndexError),
    ],
)
def test_wrong_grids_are_refused(call, kind):
    with pytest.raises(kind):
        call(tt.tensor(ONES))


def channels(x, scale=None, zeros=None, axis=0):
    scale = tt.ones(2) if scale is None else scale
    zeros = tt.zeros(2, dtype=tt.int32) if zeros is None else zeros
    return tt.fake_quantize_per_channel_affine(x, scale, zeros, axis, 0, 7)
