"""Pooling on the CPU: extreme values, windows at the edges, places of the largest elements."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
NAN, INF = float("nan"), float("inf")


def both(name: str, array: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return tt's and PyTorch's results as lists of arrays."""
    mine = getattr(F, name)(tt.tensor(array), *args, **kwargs)
    theirs = getattr(torch.nn.functional, name)(torch.tensor(array), *args, **kwargs)
    mine, theirs = ((r if isinstance(r, tuple) else (r,)) for r in (mine, theirs))
    return [m.numpy() for m in mine], [t.numpy() for t in theirs]


@pytest.mark.parametrize(
    "row",
    [
        [NAN, 1.0, NAN, 3.0, NAN, 2.0],
        [1.0, NAN, 0.0, 5.0, 5.0, 5.0],
        [-INF, -INF, -INF, -INF, -INF, -INF],
        [INF, -INF, INF, NAN, -INF, 0.0],
        [0.0, -0.0, 0.0, -0.0, 0.0, 0.0],
    ],
)
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(6, 1, 0), (3, 1, 1), (2, 2, 1), (3, 2, 0)])
def test_nan_is_largest_and_the_first_of_equal_elements_is_found(
    row: list[float], kernel: int, stride: int, padding: int
) -> None:
    mine, theirs = both("max_pool1d", np.array([[row]]), kernel, stride, padding, return_indices=True)
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(m, t)
    with tt.mask_kernels("max_pool1d_with_indices"):
        composed, _ = both("max_pool1d", np.array([[row]]), kernel, stride, padding, return_indices=True)
    for m, t in zip(composed, theirs, strict=True):
        np.testing.assert_array_equal(m, t)


@pytest.mark.parametrize(
    ("dims", "kernel", "stride", "padding", "dilation", "ceil_mode"),
    [c for c in product((1, 2, 3), (1, 2, 3), (1, 2, 4), (0, 1), (1, 2), (False, True)) if 2 * c[3] <= c[1]],
)
def test_largest_elements_and_places_are_those_of_torch(
    dims: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> None:
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, *(7, 6, 5)[:dims])).astype(np.float64)
    how = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    mine, theirs = both(f"max_pool{dims}d", x, kernel, **how, return_indices=True)
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(m, t)


def test_more_than_127_elements_in_a_window() -> None:
    x = np.random.default_rng(0).permutation(2 * 15 * 17).reshape(1, 2, 15, 17).astype(np.float32)
    mine, theirs = both("max_pool2d", x, (14, 16), 1, return_indices=True)
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(m, t)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.int64])
def test_integers_have_a_largest_element_too(dtype: type) -> None:
    info = np.iinfo(dtype)
    x = np.array([[[[info.min, info.max], [info.min, info.min]]]], dtype)
    mine, theirs = both("max_pool2d", x, 2, 1, 1, return_indices=True)
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(m, t)


def test_the_gradient_of_a_shared_element_adds_up() -> None:
    x = tt.tensor([[1.0, 5.0, 2.0, 3.0]], requires_grad=True)
    F.max_pool1d(x, 3, 1).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 0.0, 0.0]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("dims", "kernel", "stride", "padding", "ceil_mode", "counted"),
    [c for c in product((1, 2, 3), (2, 3), (1, 2, 4), (0, 1), (False, True), (False, True)) if c[3] < c[1]],
)
def test_means_and_their_gradients_are_those_of_torch(
    dims: int, kernel: int, stride: int, padding: int, ceil_mode: bool, counted: bool
) -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, *(7, 6, 5)[:dims]))
    how = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode, "count_include_pad": counted}
    x, theirs_x = tt.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    found = getattr(F, f"avg_pool{dims}d")(x, kernel, **how)
    expected = getattr(torch.nn.functional, f"avg_pool{dims}d")(theirs_x, kernel, **how)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    found.square().sum().backward()
    expected.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), theirs_x.grad.numpy(), rtol=1e-12, atol=1e-12)  # type: ignore[union-attr]


def test_means_of_integers_are_rounded_towards_zero() -> None:
    x = tt.tensor([[[-5, -3], [2, 3]], [[-7, -8], [-9, -1]]])
    assert F.avg_pool2d(x, 2).tolist() == [[[0]], [[-6]]]
    assert F.avg_pool2d(x, 2, divisor_override=-2).tolist() == [[[1]], [[12]]]


@pytest.mark.parametrize(("dims", "size"), [*product((1, 2, 3), (1, 2, 3, 4, 5, 7, 9))])
def test_adaptive_windows_are_those_of_torch(dims: int, size: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, *(7, 6, 5)[:dims]))
    mine, theirs = both(f"adaptive_avg_pool{dims}d", x, size)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-12, atol=1e-12)
    mine, theirs = both(f"adaptive_max_pool{dims}d", x, size, return_indices=True)
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(m, t)


def test_an_adaptive_mean_keeps_nan_in_its_windows() -> None:
    x = tt.tensor([[NAN, 1.0, 2.0, 3.0, INF]])
    found = F.adaptive_avg_pool1d(x, 3).tolist()[0]
    assert np.isnan(found[0]) and found[1:] == [2.0, INF]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.max_pool2d(x, 9), RuntimeError, "whose sizes must be at least 1"),
        (lambda x: F.max_pool2d(x, 2, padding=2), RuntimeError, "more than half of the window"),
        (lambda x: F.max_pool2d(x, 2, 0), RuntimeError, "stride must be greater than zero"),
        (lambda x: F.max_pool2d(x, (2, 2, 2)), (RuntimeError, TypeError), "kernel_size"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), RuntimeError, "divisor_override must not be zero"),
        (lambda x: F.avg_pool2d(x[:, :0], 2), RuntimeError, "only the batch may be empty"),
        (lambda x: F.adaptive_avg_pool2d(x, -1), RuntimeError, "output_size must be zero or more"),
        (lambda x: F.adaptive_max_pool2d(x[0, 0], 1), ValueError, "must have at least 3"),
    ],
)
def test_an_error_says_what_is_wrong(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call(tt.zeros(2, 3, 5, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tt.ops._lp_pool(x, 2.0, [], None, False),
        lambda x: tt.ops._lp_pool_backward(x, x, 2.0, [], None, False),
        lambda x: tt.ops._fractional_max_pool(x, [], [], x),
        lambda x: tt.ops._avg_unpool(x, [], [2], None, [0], False, True, None),
        lambda x: tt.ops._adaptive_avg_unpool(x, []),
    ],
)
def test_windows_without_dimensions_are_refused(call: Any) -> None:
    for shape in ((4,), (3, 4)):
        with pytest.raises(RuntimeError, match="no dimension to pool over"):
            call(tt.ones(shape))
