"""Clipping of gradients: norms, scaling, values, errors."""

from __future__ import annotations

import math

import pytest

import tt
from tt import nn
from tt.nn import utils


def parameters(*grads):
    found = [nn.Parameter(tt.zeros(len(grad))) for grad in grads]
    for param, grad in zip(found, grads, strict=True):
        param.grad = tt.tensor(grad)
    return found


@pytest.mark.parametrize("foreach", [None, True, False])
def test_the_common_norm_is_at_most_the_bound(foreach):
    params = [*parameters([3.0], [4.0, 0.0]), nn.Parameter(tt.zeros(1))]
    assert utils.clip_grad_norm_(params, 1.0, foreach=foreach).item() == pytest.approx(5)
    assert params[0].grad.tolist() == pytest.approx([0.6], rel=1e-5)
    assert params[1].grad.tolist() == pytest.approx([0.8, 0.0], rel=1e-5)
    assert utils.get_total_norm([p.grad for p in params[:2]]).item() == pytest.approx(1, rel=1e-5)


def test_small_gradients_are_left_alone():
    (param,) = parameters([0.3, 0.4])
    utils.clip_grad_norm_(iter([param]), 1.0)
    assert param.grad.tolist() == pytest.approx([0.3, 0.4])


@pytest.mark.parametrize(("order", "norm"), [(1, 7), (2, 5), (math.inf, 4), (3, 91 ** (1 / 3))])
def test_orders_of_the_norm(order, norm):
    assert utils.get_total_norm([tt.tensor([3.0]), tt.tensor([-4.0])], order).item() == pytest.approx(norm)


def test_dtypes_may_be_mixed():
    grads = [tt.tensor([3.0]), tt.tensor([4.0], dtype=tt.float64)]
    assert utils.get_total_norm(grads).item() == pytest.approx(5)


def test_nothing_to_clip():
    assert utils.clip_grad_norm_([nn.Parameter(tt.zeros(1))], 1.0).item() == 0
    with pytest.warns(UserWarning, match="generator"):
        utils.clip_grad_norm_((p for p in []), 1.0)


def test_a_norm_that_is_not_finite_is_an_error_on_request():
    (param,) = parameters([math.inf])
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(param, 1.0, error_if_nonfinite=True)
    assert param.grad.tolist() == [math.inf]


def test_values_are_clipped_one_by_one():
    (param,) = parameters([-3.0, 0.5, 2.0])
    utils.clip_grad_value_(param, 1)
    assert param.grad.tolist() == [-1, 0.5, 1]


def test_the_old_name_warns():
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        utils.clip_grad_norm(parameters([1.0]), 2.0)


@pytest.mark.parametrize(
    "layout", [tt.sparse_coo, tt.sparse_csr, tt.sparse_csc, tt.sparse_bsr, tt.sparse_bsc]
)
def test_sparse_gradients_are_clipped_by_value(layout):
    dense = tt.tensor([[3.0, 0.0], [0.0, -0.5]])
    blocks = {"blocksize": (1, 1)} if layout in (tt.sparse_bsr, tt.sparse_bsc) else {}
    p = tt.nn.Parameter(tt.zeros(2, 2))
    p.grad = dense.to_sparse(layout=layout, **blocks)
    tt.nn.utils.clip_grad_value_(p, 2.0)
    assert p.grad.layout is layout and p.grad.to_dense().tolist() == [[2, 0], [0, -0.5]]


def test_entries_of_one_place_are_added_before_they_are_clipped():
    table = tt.nn.Embedding(4, 1, sparse=True)
    table(tt.tensor([1, 1, 3])).sum().backward()
    gradient = table.weight.grad
    tt.nn.utils.clip_grad_value_(table.weight, 1.5)
    assert table.weight.grad is gradient and gradient.to_dense().flatten().tolist() == [0, 1.5, 0, 1]
