"""Pooling by powers, unpooling and fractional pooling: PyTorch's numbers for the same random samples, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F


@pytest.mark.parametrize("dims", [2, 3])
def test_windows_at_random_places_are_whole_and_cover_the_end(dims: int) -> None:
    x = tt.arange(8**dims).float().reshape(1, *(8,) * dims)
    pool = getattr(F, f"fractional_max_pool{dims}d")
    output, indices = pool(x, 3, output_size=4, return_indices=True)
    assert output.shape == (1, *(4,) * dims)
    assert (output.flatten() == indices.flatten()).all()
    assert output.max() == 8**dims - 1


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_there_is_no_root_of_order_zero(dims: int) -> None:
    pool = getattr(F, f"lp_pool{dims}d")
    with pytest.raises(ZeroDivisionError, match="norm_type"):
        pool(tt.ones((1, *(2,) * dims)), -0.0, 2)


@pytest.mark.parametrize("sample", [0.0, -3.0, 7.0, float("nan")])
def test_windows_stay_in_their_row(sample: float) -> None:
    # The last start but one is 1600 as a bfloat16, and 1598 is the last possible.
    x = tt.zeros(1, 2, 1600, dtype=tt.bfloat16)
    x[0, 1] = 1
    samples = tt.full((1, 1, 2), sample, dtype=tt.bfloat16)
    output, places = tt.ops._fractional_max_pool(x, (1, 2), (1, 313), samples)
    assert (output == 1).all() and places.min() >= 1600 and places.max() < 3200


@pytest.mark.parametrize("ratio", ["text", ..., [None, 0.5], 1j])
def test_a_ratio_is_a_number(ratio: Any) -> None:
    with pytest.raises(tt.errors.ArgumentError, match="output_ratio"):
        F.fractional_max_pool2d(tt.ones(1, 4, 4), 2, output_ratio=ratio)


@pytest.mark.parametrize(
    ("kernel", "size"), [((), 3), ((2,), 3), (2, ()), (2, (3,)), (2, (3, 3, 3, 3))], ids=str
)
@pytest.mark.parametrize("dims", [2, 3])
def test_lists_of_sizes_have_one_for_each_dimension(dims: int, kernel: Any, size: Any) -> None:
    pool = getattr(F, f"fractional_max_pool{dims}d")
    with pytest.raises(tt.errors.ShapeError, match=f"_size must either be a single int or {dims} of them"):
        pool(tt.rand(1, *[5] * dims), kernel, output_size=size)


def test_one_size_stands_for_all_dimensions() -> None:
    x = tt.rand(1, 1, 5, 5)
    samples = tt.rand(1, 1, 2)
    one, two = (tt.ops._fractional_max_pool(x, (2, 2), size, samples) for size in ([3], [3, 3]))
    assert one[0].tolist() == two[0].tolist()


def test_powers_have_roots() -> None:
    assert F.lp_pool1d(tt.tensor([[3.0, 4.0, 5.0, 12.0]]), 2, 2).tolist() == [[5.0, 13.0]]


def test_unpooling_undoes_max_pooling() -> None:
    x = tt.tensor([[[1.0, 3.0, 2.0, 5.0], [0.0, 1.0, 7.0, 6.0]]])
    output, indices = F.max_pool2d(x, 2, return_indices=True)
    assert F.max_unpool2d(output, indices, 2).tolist() == [[[0.0, 3.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("dims", "kernel", "size"), [(2, (2, 3), (3, 4)), (2, 4, 1), (3, (2, 1, 3), (3, 4, 2)), (3, 2, 4)]
)
def test_fractional_windows_are_those_of_torch(dims: int, kernel: Any, size: Any, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(20):
        array = rng.standard_normal((2, 3, 9, 7, 8)[: dims + 2]).astype(dtype)
        array[rng.random(array.shape) < 0.02] = np.nan
        samples = rng.random((2, 3, dims)).astype(dtype)
        x, theirs = tt.tensor(array).requires_grad_(), torch.tensor(array).requires_grad_()
        found = getattr(F, f"fractional_max_pool{dims}d")(x, kernel, size, None, True, tt.tensor(samples))
        pool = getattr(torch.nn.functional, f"fractional_max_pool{dims}d")
        expected = pool(theirs, kernel, size, None, True, torch.tensor(samples))
        np.testing.assert_array_equal(found[0].detach().numpy(), expected[0].detach().numpy())
        np.testing.assert_array_equal(found[1].numpy(), expected[1].numpy())
        found[0].sum().backward()
        expected[0].sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("norm", [2.0, 3.0, 1.5])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_powers_are_those_of_torch(dims: int, norm: float) -> None:
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(0).standard_normal((2, 3, 7, 6, 5)[: dims + 2])
    for how in ((2,), (3, 1), (2, 3, True), ((2, 3, 1)[:dims], None, True)):
        if dims == 1 and isinstance(how[0], tuple):
            continue
        x, theirs = tt.tensor(array).requires_grad_(), torch.tensor(array).requires_grad_()
        found = getattr(F, f"lp_pool{dims}d")(x, norm, *how)
        expected = getattr(torch.nn.functional, f"lp_pool{dims}d")(theirs, norm, *how)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9)
        found.sum().backward()
        expected.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), theirs.grad.numpy(), rtol=1e-9)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_program_that_asks_for_determinism_is_refused_unpooling(dims: int) -> None:
    values, indices = tt.ones(1, *(2,) * dims), tt.zeros((1, *(2,) * dims), dtype=tt.int64)
    unpool = getattr(tt.nn, f"MaxUnpool{dims}d")(2)
    tt.use_deterministic_algorithms(True)
    try:
        with pytest.raises(tt.errors.NondeterministicError, match=f"max_unpool{dims}d"):
            unpool(values, indices)
        tt.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match=f"max_unpool{dims}d"):
            unpool(values, indices)
    finally:
        tt.use_deterministic_algorithms(False)


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("lead", [(2,), (2, 2), (0, 2)])
def test_the_gradient_of_no_windows_is_zero(kind: str, dims: int, lead: tuple[int, ...]) -> None:
    pool = getattr(F, f"adaptive_{kind}_pool{dims}d")
    x = tt.ones(*lead, *(3,) * dims, requires_grad=True)
    pool(x, (0,) + (2,) * (dims - 1)).sum().backward()
    assert tt.equal(x.grad, tt.zeros_like(x))
    hessian = tt.func.hessian(lambda x: pool(x, 0).pow(2).sum())(tt.ones(1, *(2,) * dims))
    assert not hessian.any()
