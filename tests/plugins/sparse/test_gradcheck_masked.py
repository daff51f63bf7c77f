"""Gradients of sparse tensors by gradcheck, which moves their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt
from tests.plugins.sparse.making import COMPRESSED, matrix, sparse_of

CALLS: dict[str, Callable[..., Any]] = {
    "sin": lambda x: x.sin(),
    "to_dense": lambda x: x.to_dense(masked_grad=True),
    "softmax": lambda x: tt.sparse.softmax(x, 1),
    "sum": lambda x: tt.sparse.sum(x),
    "product of elements": lambda x: x * x,
    "mm": lambda x: tt.sparse.mm(x, tt.tensor(matrix(2, 6, 4))),
    "sampled_addmm": lambda x: tt.sparse.sampled_addmm(
        x, tt.tensor(matrix(3, 4, 3)), tt.tensor(matrix(4, 3, 6)), beta=2.0
    ),
    "norm": lambda x: x.norm(),
}


@pytest.mark.parametrize("layout", ["coo", *COMPRESSED])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_what_is_stored(name: str, layout: str) -> None:
    x = sparse_of(layout, matrix(1, density=1.1 if layout[0] == "b" else 0.5)).requires_grad_()
    assert tt.autograd.gradcheck(CALLS[name], (x,), masked=True)
