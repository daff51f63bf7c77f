"""Gradients are made to fit the shape, dtype and device of their tensors."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (1, 1, 3)])
def test_a_gradient_has_the_shape_of_what_was_broadcast(shape: tuple[int, ...]) -> None:
    x = tt.ones(shape, requires_grad=True)
    (x * tt.ones(2, 3)).sum().backward()
    assert x.grad is not None and tuple(x.grad.shape) == shape
    assert x.grad.sum().item() == 6.0 if len(shape) < 3 else True


@pytest.mark.parametrize(
    "dtype", [tt.float16, tt.bfloat16, tt.float32, tt.float64, tt.complex64, tt.complex128]
)
def test_a_gradient_has_the_dtype_of_its_tensor(dtype: tt.dtype) -> None:
    x = tt.ones(2, dtype=dtype, requires_grad=True)
    (x * tt.tensor([1.0, 2.0], dtype=tt.float64)).abs().sum().backward()
    assert x.grad is not None and x.grad.dtype is dtype


def test_integers_have_no_gradient() -> None:
    with pytest.raises(RuntimeError, match="floating point and complex tensors can require"):
        tt.ones(2, dtype=tt.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="floating point and complex tensors can require"):
        tt.ones(2, dtype=tt.int64).requires_grad = True
