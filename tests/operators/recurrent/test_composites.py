"""Composites of recurrent layers: what they refuse. Conformance compares their results."""

from __future__ import annotations

import pytest

import tt
from tt.core.errors import ShapeError, ValueRangeError
from tt.operators.recurrent.composites import composites


@pytest.mark.parametrize(
    "sizes",
    [
        tt.tensor([2, 2, 1], dtype=tt.complex64),
        tt.tensor([2.0, 2.0, 1.0]),
        tt.tensor([[2, 2, 1]]),
        tt.tensor(5),
        tt.tensor([2, 3]),
        tt.tensor([2, 2]),
    ],
    ids=["complex", "floating", "matrix", "number", "rising", "too few"],
)
def test_sizes_of_batches_that_describe_no_packed_rows_are_refused(sizes):
    layer = composites.functions["_rnn_layer"]
    x, h, w, u = tt.ones(5, 3), tt.ones(2, 4), tt.ones(12, 3), tt.ones(12, 4)
    with pytest.raises((ShapeError, ValueRangeError), match=r"_rnn_layer\(\): batch_sizes must be"):
        layer(x, h, None, w, u, None, None, None, sizes, "gru", False)
