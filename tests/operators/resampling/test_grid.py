"""Grids of points after affine maps."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("spatial", [(3, 4), (2, 3, 4)])
def test_the_gradient_of_a_grid_is_that_of_its_parts(spatial: tuple[int, ...], align: bool) -> None:
    dims = len(spatial)
    theta = tt.linspace(-1, 2, 2 * dims * (dims + 1), dtype=tt.float64).reshape(2, dims, dims + 1)

    def grid(theta: tt.Tensor) -> tt.Tensor:
        made: tt.Tensor = tt.nn.functional.affine_grid(theta, (2, 1, *spatial), align_corners=align)
        return made

    assert tt.autograd.gradcheck(grid, (theta.clone().requires_grad_(),), check_forward_ad=True)
    assert tt.autograd.gradgradcheck(lambda t: grid(t).square(), (theta.clone().requires_grad_(),))


def test_a_grid_serves_a_second_backward() -> None:
    theta = tt.ones(1, 2, 3, requires_grad=True)
    total = tt.nn.functional.affine_grid(theta, (1, 1, 2, 2), align_corners=False).sum()
    total.backward()
    once = theta.grad.clone()
    total.backward()
    assert theta.grad.equal(once * 2)


def test_the_gradient_of_half_precision_is_summed_in_float32() -> None:
    theta = tt.ones(1, 2, 3, dtype=tt.float16, requires_grad=True)
    tt.affine_grid_generator(theta, (1, 1, 64, 65), False).sum().backward()
    assert theta.grad.dtype is tt.float16 and theta.grad[0, :, 2].tolist() == [4160.0] * 2
