"""Gradients of functions of sparse tensors are checked as those of their values."""

from __future__ import annotations

import pytest

import tt

LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "coo with dense dimensions": lambda x: x.to_sparse(1),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "bsc": lambda x: x.to_sparse_bsc((1, 2)),
}
CHECK = tt.sparse.as_sparse_gradcheck(tt.autograd.gradcheck)


def matrix():
    return tt.tensor([[0.0, 1.0, 2.0, 0.0], [2.0, 3.0, 0.0, 0.0]], dtype=tt.float64)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_right_gradients_pass_in_every_layout(layout, masked):
    x = LAYOUTS[layout](matrix()).requires_grad_()
    assert CHECK(lambda x: x.to_dense() ** 2, x, masked=masked)


def test_wrong_gradients_fail():
    class Wrong(tt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = matrix().to_sparse().requires_grad_()
    with pytest.raises(RuntimeError):
        CHECK(lambda x: Wrong.apply(x.to_dense()), x)
    assert not CHECK(lambda x: Wrong.apply(x.to_dense()), x, raise_exception=False)


def test_sparse_results_and_strided_arguments_are_taken():
    x = matrix().to_sparse().requires_grad_()
    y = tt.ones(4, 2, dtype=tt.float64, requires_grad=True)
    assert CHECK(lambda x, y: (tt.sparse.mm(x, y), x * 2), (x, y))


def test_other_checks_are_extended_too():
    second = tt.sparse.as_sparse_gradcheck(tt.autograd.gradgradcheck)
    assert second(lambda x: x.to_dense() ** 3, matrix().to_sparse().requires_grad_())
