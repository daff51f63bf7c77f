"""Functions that PyTorch keeps for its own modules, against torch."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.errors import ShapeError, ValueRangeError

INF = float("inf")


def integers(t, rows, columns):
    return ((t.arange(rows * columns) * 37) % 256 - 128).to(t.int8).reshape(rows, columns)


CASES = {
    "softmax": lambda t: t._safe_softmax(t.tensor([[0.0, 1.0], [-INF, -INF], [-INF, 2.0]]), 1),
    "softmax of columns": lambda t: t._safe_softmax(t.tensor([[0.0, -INF], [1.0, -INF]]), 0, dtype=t.float64),
    "softmax of integers": lambda t: t._safe_softmax(t.tensor([1, 2]), -1, t.float32),
    "softmax backward": lambda t: t._softmax_backward_data(
        t.tensor([[1.0, 0.0], [2.0, 3.0]]), t.tensor([[0.5, 0.5], [0.25, 0.75]]), 1, t.float32
    ),
    "index": lambda t: t._unsafe_masked_index(
        t.arange(6.0).reshape(2, 3), t.tensor([True, False]), [t.tensor([1, 9]), t.tensor([-1, 0])], -1
    ),
    "index of nothing": lambda t: t._unsafe_masked_index(
        t.zeros(0), t.tensor([True, False]), [t.tensor([1, 9])], 7
    ),
    "put": lambda t: t._unsafe_masked_index_put_accumulate(
        t.zeros(3), t.tensor([True, False, True]), [t.tensor([1, 9, 1])], t.tensor([1.0, 2.0, 4.0])
    ),
    "pieces": lambda t: t._chunk_cat([t.arange(6.0).reshape(3, 2), t.ones(1, 4), t.ones(5)[:, None]], 0, 2),
    "pieces of rows": lambda t: t._chunk_cat([t.arange(8.0).reshape(2, 4), t.ones(2, 3)], 1, 3),
    "pieces, out": lambda t: t._chunk_cat([t.ones(3)], 0, 2, out=t.empty(0)),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_torch(case):
    torch = pytest.importorskip("torch")
    found, expected = CASES[case](tt), CASES[case](torch)
    assert str(found.dtype)[3:] == str(expected.dtype)[6:] and tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_hidden_rows_have_no_gradient():
    x = tt.tensor([[-INF, -INF], [0.0, 1.0]], requires_grad=True)
    tt._safe_softmax(x, 1)[:, 0].sum().backward()
    assert x.grad[0].tolist() == [0, 0] and x.grad[1].abs().sum() > 0


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: tt._chunk_cat([], 0, 2), ShapeError),
        (lambda: tt._chunk_cat([tt.ones(2)], 1, 2), ShapeError),
        (lambda: tt._chunk_cat([tt.ones(2, 2), tt.ones(3, 2)], 1, 2), ShapeError),
        (lambda: tt._chunk_cat([tt.ones(0)], 0, 2), ShapeError),
        (lambda: tt._chunk_cat([tt.ones(2)], 0, 0), ValueRangeError),
    ],
)
def test_pieces_that_do_not_fit_are_refused(call, kind):
    with pytest.raises(kind, match="_chunk_cat"):
        call()
