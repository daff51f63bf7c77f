"""Interpolation: against PyTorch over sizes, factors and modes; bytes; refusals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SIZES: list[dict[str, Any]] = [
    *({"size": size} for size in ((1, 1), (3, 11), (7, 5), (14, 10), (20, 4))),
    *({"scale_factor": factor} for factor in (0.5, 1.3, 2.0, (0.4, 3.1))),
    {"scale_factor": (0.7, 1.9), "recompute_scale_factor": True},
]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16], ids=str)
def test_gradients_of_half_precision_are_rounded_once(dtype: tt.dtype, mode: str) -> None:
    generator = np.random.default_rng(1)
    x = tt.tensor(generator.standard_normal((2, 3, 7, 5))).to(dtype).requires_grad_()
    wide = x.detach().float().requires_grad_()
    result, expected = (F.interpolate(v, scale_factor=3, mode=mode) for v in (x, wide))
    gradient = tt.tensor(generator.standard_normal(tuple(result.shape))).to(dtype)
    result.backward(gradient)
    expected.backward(gradient.float())
    assert x.grad is not None and wide.grad is not None and x.grad.dtype is dtype
    assert x.grad.tolist() == wide.grad.to(dtype).tolist()


@pytest.mark.parametrize("how", SIZES, ids=str)
@pytest.mark.parametrize(
    ("mode", "align_corners", "antialias"),
    [
        *((mode, None, False) for mode in ("nearest", "nearest-exact", "area")),
        *product(("bilinear", "bicubic"), (False, True), (False, True)),
    ],
)
def test_values_and_gradients_are_those_of_torch(
    mode: str, align_corners: bool | None, antialias: bool, how: dict[str, Any]
) -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, 7, 5))
    x, theirs_x = tt.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    options: dict[str, Any] = {"mode": mode, "align_corners": align_corners, "antialias": antialias, **how}
    found, expected = F.interpolate(x, **options), torch.nn.functional.interpolate(theirs_x, **options)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)
    found.square().sum().backward()
    expected.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs_x.grad.numpy(), rtol=1e-9, atol=1e-9)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "how", SIZES[1:], ids=str
)  # to a single pixel, PyTorch fails an assertion of its own
@pytest.mark.parametrize(
    ("mode", "antialias"), [("nearest", False), *product(("bilinear", "bicubic"), (False, True))]
)
def test_bytes_are_those_of_torch(mode: str, antialias: bool, how: dict[str, Any]) -> None:
    array = np.random.default_rng(0).integers(0, 256, (2, 3, 7, 5)).astype(np.uint8)
    options: dict[str, Any] = {"mode": mode, "antialias": antialias, **how}
    found = F.interpolate(tt.tensor(array), **options)
    expected = torch.nn.functional.interpolate(torch.tensor(array), **options).numpy()
    assert found.dtype is tt.uint8
    # Vector and scalar code of PyTorch round differently by one.
    assert np.abs(found.numpy().astype(int) - expected.astype(int)).max() <= 1


def test_many_sizes_have_the_same_nearest_elements_as_in_torch() -> None:
    for size, new in product((1, 2, 3, 7, 10, 33), (1, 2, 3, 5, 14, 21, 66, 99)):
        row = np.arange(size, dtype=np.float32).reshape(1, 1, size)
        for mode in ("nearest", "nearest-exact"):
            found = F.interpolate(tt.tensor(row), new, mode=mode).numpy()
            expected = torch.nn.functional.interpolate(torch.tensor(row), new, mode=mode).numpy()
            np.testing.assert_array_equal(found, expected, err_msg=f"{size} to {new}, {mode}")


def test_an_infinite_element_stays_among_its_neighbours() -> None:
    x = tt.tensor([[[1.0, 1.0, 1.0, float("inf")]]])
    assert F.interpolate(x, 8, mode="linear")[0, 0, :5].tolist() == [1.0] * 5


def test_half_precision_is_computed_in_single_precision() -> None:
    array = np.random.default_rng(0).standard_normal((1, 1, 9)).astype(np.float16)
    found = F.interpolate(tt.tensor(array), 23, mode="linear")
    wide = F.interpolate(tt.tensor(array.astype(np.float32)), 23, mode="linear")
    np.testing.assert_array_equal(found.numpy(), wide.numpy().astype(np.float16))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "neither is given"),
        ({"size": 2, "scale_factor": 2.0}, ValueError, "both are given"),
        ({"size": (2, 2, 2)}, ValueError, "size has a number for each"),
        ({"scale_factor": (2.0,)}, ValueError, "scale_factor has a number for each"),
        ({"size": 2, "recompute_scale_factor": True}, ValueError, "size is given"),
        ({"size": 2, "align_corners": True}, ValueError, "align_corners option can only be set"),
        ({"size": 2, "antialias": True}, ValueError, "Anti-alias option is restricted"),
        ({"size": 2, "mode": "cubic"}, NotImplementedError, "for the modes nearest"),
        ({"size": 2, "mode": "trilinear"}, NotImplementedError, "trilinear mode needs 5D input"),
        ({"size": 0}, RuntimeError, "no size can be 0"),
        ({"scale_factor": 0.1}, RuntimeError, "no size can be 0"),
        ({"scale_factor": 1e308}, ValueError, "are not sizes"),
        ({"scale_factor": float("nan")}, ValueError, "are not sizes"),
        ({"scale_factor": 10**400}, ValueError, "are not sizes"),
        ({"scale_factor": (2.0, "2")}, TypeError, "one float or several"),
        ({"size": 2.5}, TypeError, "size must be one int"),
    ],
)
def test_an_error_says_what_is_wrong(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        F.interpolate(tt.zeros(1, 2, 3, 4), **options)


@pytest.mark.parametrize(
    ("mode", "sizes", "antialias"),
    [
        *((mode, (3, 4, 2)[:dims], False) for mode in ("nearest", "nearest-exact") for dims in (1, 2, 3)),
        ("linear", (3,), False),
        *((mode, (3, 4), antialias) for mode in ("bilinear", "bicubic") for antialias in (False, True)),
        ("trilinear", (3, 4, 2), False),
    ],
)
@pytest.mark.parametrize("factors", [(1.1,) * 3, (1.3, 2.0, 1.1), (0.6, 1.2, 1.0)], ids=str)
def test_a_dimension_can_keep_its_size_under_a_factor(
    mode: str, sizes: tuple[int, ...], antialias: bool, factors: tuple[float, ...]
) -> None:
    array = np.random.default_rng(0).standard_normal((2, 2, *sizes))
    options: dict[str, Any] = {"mode": mode, "antialias": antialias, "scale_factor": factors[: len(sizes)]}
    found = F.interpolate(tt.tensor(array), **options)
    expected = torch.nn.functional.interpolate(torch.tensor(array), **options)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_size_that_is_kept_gives_a_copy_of_the_elements(mode: str) -> None:
    x = tt.tensor([[[-0.0, float("inf"), 1.0, float("nan")]]])
    found = F.interpolate(x, 4, mode=mode)
    assert found.data_ptr() != x.data_ptr() and found.numpy().tobytes() == x.numpy().tobytes()


def test_sizes_and_factors_may_be_numbers_of_numpy_and_tensors():
    x = tt.ones(1, 1, 2, 2)
    for size in ((np.int64(3), 3), [tt.tensor(3), 3], np.int64(3)):
        assert tt.nn.functional.interpolate(x, size=size).shape == (1, 1, 3, 3)
    for factor in (np.float32(2), np.float64(2), (np.float32(2), 2)):
        assert tt.nn.functional.interpolate(x, scale_factor=factor).shape == (1, 1, 4, 4)
    for wrong in (3.5, (3.0, 3), "a"):
        with pytest.raises(TypeError, match="size must be one int or several"):
            tt.nn.functional.interpolate(x, size=wrong)


@pytest.mark.parametrize(
    ("mode", "dims"),
    [("nearest", 1), ("nearest", 2), ("nearest-exact", 2), ("linear", 1), ("bilinear", 2), ("bicubic", 2)],
)
def test_a_graph_of_resampling_serves_a_second_backward(mode: str, dims: int) -> None:
    x = tt.ones(1, 1, *(4,) * dims, requires_grad=True)
    y = tt.nn.functional.interpolate(x, scale_factor=1.5, mode=mode).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert x.grad.equal(once * 2)
