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


class Sends(tt.autograd.Function):
    """Passes a tensor on, and sends it a gradient of its own."""

    @staticmethod
    def forward(ctx: tt.autograd.function.FunctionCtx, x: tt.Tensor, gradient: tt.Tensor) -> tt.Tensor:
        ctx.save_for_backward(gradient)
        return x.clone()

    @staticmethod
    def backward(ctx: tt.autograd.function.FunctionCtx, *gradients: tt.Tensor) -> tuple[tt.Tensor, None]:
        return ctx.saved_tensors[0], None


def sparse(*places: int) -> tt.Tensor:
    return tt.sparse_coo_tensor([list(places)], [float(p + 1) for p in places], (4,))


def test_sums_of_sparse_gradients_have_the_order_in_which_the_tensor_was_used() -> None:
    x = tt.ones(4, requires_grad=True)
    (Sends.apply(x, sparse(3, 0)) + Sends.apply(x, sparse(1))).sum().backward()
    assert x.grad is not None and x.grad._indices().tolist() == [[3, 0, 1]]
    assert x.grad._values().tolist() == [4.0, 1.0, 2.0]


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_sparse_gradient_is_added_to_a_sparse_one_in_place(create_graph: bool) -> None:
    x = tt.ones(4, requires_grad=True)
    held = x.grad = sparse(2)
    x.backward(sparse(1, 2), create_graph=create_graph)
    assert (x.grad is held) is not create_graph
    assert x.grad.to_dense().tolist() == [0.0, 2.0, 6.0, 0.0]
    x.backward(tt.ones(4))
    assert x.grad is not held and x.grad.tolist() == [1.0, 3.0, 7.0, 1.0]
