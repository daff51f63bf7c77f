"""Operators act on each row of a jagged tensor as on a dense tensor, and so do their gradients."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F
from tests.plugins.nested.batches import assert_same, batch_of, gradients, parts, rows_of, with_gaps
from tt.testing.compare import tolerances

W = tt.arange(6.0, dtype=tt.float64).reshape(3, 2) / 7 + 0.1
V = tt.tensor([0.5, 1.5, -1.0], dtype=tt.float64)

# Each takes a tensor and the number of dimensions before those of a row: 1 for a batch, 0 for a row.
UNARY = {
    "neg": lambda x, b: -x,
    "exp": lambda x, b: x.exp(),
    "sin": lambda x, b: x.sin(),
    "sqrt": lambda x, b: x.sqrt(),
    "abs": lambda x, b: x.abs(),
    "relu": lambda x, b: (x - 1).relu(),
    "gelu": lambda x, b: F.gelu(x),
    "silu": lambda x, b: F.silu(x),
    "relu6": lambda x, b: F.relu6(x),
    "softsign": lambda x, b: F.softsign(x),
    "sigmoid": lambda x, b: x.sigmoid(),
    "tanh": lambda x, b: x.tanh(),
    "clamp": lambda x, b: x.clamp(0.5, 1.0),
    "pow": lambda x, b: x**2.5,
    "float_power": lambda x, b: x.float_power(2),
    "add number": lambda x, b: x + 1.5,
    "number minus": lambda x, b: 2 - x,
    "rdiv": lambda x, b: 1 / x,
    "mul zero-dim": lambda x, b: x * tt.tensor(2.0, dtype=tt.float64),
    "row vector": lambda x, b: x * V,
    "row vector first": lambda x, b: V - x,
    "itself": lambda x, b: x * x + x,
    "compare": lambda x, b: x > 1,
    "logical_not": lambda x, b: (x > 1).logical_not(),
    "where": lambda x, b: tt.where(x > 1, x, 0.0),
    "where both": lambda x, b: tt.where(x > 1, x * 2, -x),
    "masked_fill": lambda x, b: x.masked_fill(x > 1, 3.0),
    "lerp": lambda x, b: tt.lerp(x, x * 3, 0.25),
    "addcmul": lambda x, b: tt.addcmul(x, x, x, value=0.5),
    "nan_to_num": lambda x, b: x.nan_to_num(),
    "isfinite": lambda x, b: tt.isfinite(x),
    "maximum": lambda x, b: tt.maximum(x, V),
    "max.other": lambda x, b: tt.max(x, 2 - x),
    "frexp": lambda x, b: tuple(tt.frexp(x)),
}
DIMS = {
    "sum dense": lambda x, b: x.sum(1 + b),
    "sum dense keepdim": lambda x, b: x.sum(-1, keepdim=True),
    "sum rows": lambda x, b: x.sum(b),
    "sum rows keepdim": lambda x, b: x.sum(b, keepdim=True),
    "sum both": lambda x, b: x.sum((b, 1 + b)),
    "sum to float32": lambda x, b: x.sum(b, dtype=tt.float32),
    "mean dense": lambda x, b: x.mean(-1),
    "mean rows": lambda x, b: x.mean(b),
    "mean rows keepdim": lambda x, b: x.mean(b, keepdim=True),
    "amax rows": lambda x, b: x.amax(b),
    "amin dense": lambda x, b: x.amin(1 + b),
    "max rows": lambda x, b: tuple(x.max(b)),
    "min dense": lambda x, b: tuple(x.min(1 + b)),
    "argmax rows": lambda x, b: x.argmax(b),
    "argmin dense": lambda x, b: x.argmin(-1, keepdim=True),
    "prod rows": lambda x, b: x.prod(b),
    "any rows": lambda x, b: (x > 1).any(b),
    "all dense": lambda x, b: (x > 0.5).all(-1),
    "count_nonzero rows": lambda x, b: (x > 1).count_nonzero(b),
    "var dense": lambda x, b: x.var(-1),
    "std rows": lambda x, b: x.std(b, correction=0),
    "var unbiased": lambda x, b: x.var(1 + b, False),
    "logsumexp rows": lambda x, b: x.logsumexp(b),
    "logsumexp dense": lambda x, b: x.logsumexp(-1),
    "vector norm rows": lambda x, b: tt.linalg.vector_norm(x, 2, b),
    "norm dense": lambda x, b: x.norm(2, -1),
    "median rows": lambda x, b: tuple(x.median(b)),
    "softmax dense": lambda x, b: x.softmax(-1),
    "softmax rows": lambda x, b: x.softmax(b),
    "softmax float32": lambda x, b: x.softmax(b, dtype=tt.float32),
    "log_softmax dense": lambda x, b: x.log_softmax(1 + b),
    "log_softmax rows": lambda x, b: x.log_softmax(b),
    "softmin rows": lambda x, b: F.softmin(x, b),
    "cumsum rows": lambda x, b: x.cumsum(b),
    "cumsum dense": lambda x, b: x.cumsum(-1),
    "cummax rows": lambda x, b: tuple(x.cummax(b)),
    "sort rows": lambda x, b: tuple(x.sort(b)),
    "argsort dense": lambda x, b: x.argsort(-1),
    "normalize dense": lambda x, b: F.normalize(x, dim=1 + b),
}
SHAPES = {
    "unsqueeze last": lambda x, b: x.unsqueeze(-1),
    "unsqueeze first": lambda x, b: x.unsqueeze(b),
    "squeeze": lambda x, b: x.unsqueeze(-1).squeeze(-1),
    "transpose": lambda x, b: x.transpose(b, 1 + b),
    "twice transposed": lambda x, b: x.transpose(b, 1 + b).transpose(-1, -2),
    "mT": lambda x, b: x.mT,
    "movedim": lambda x, b: x.movedim(1 + b, b),
    "select": lambda x, b: x.select(1 + b, 1),
    "slice": lambda x, b: x[..., 1:],
    "step": lambda x, b: x[..., ::2],
    "narrow": lambda x, b: x.narrow(-1, 1, 2),
    "index_select": lambda x, b: x.index_select(1 + b, tt.tensor([2, 0, 0])),
    "unflatten": lambda x, b: x.unflatten(-1, (3, 1)),
    "flatten": lambda x, b: x.unflatten(-1, (1, 3)).flatten(-2),
    "chunk": lambda x, b: tuple(x.chunk(2, -1)),
    "split": lambda x, b: tuple(x.split([1, 2], -1)),
    "unbind dense": lambda x, b: tuple(x.unbind(1 + b)),
    "cat": lambda x, b: tt.cat([x, x * 2], -1),
    "stack": lambda x, b: tt.stack([x, x * 2], -1),
    "stack before": lambda x, b: tt.stack([x, x * 2], b),
    "expand": lambda x, b: x.unsqueeze(-1).expand(*x.shape, 2),
    "transposed sum": lambda x, b: x.transpose(b, 1 + b).sum(-1),
    "transposed dense sum": lambda x, b: x.transpose(b, 1 + b).sum(b),
    "transposed softmax": lambda x, b: x.transpose(b, 1 + b).softmax(-1),
    "transposed mul": lambda x, b: x.transpose(b, 1 + b) * V.unsqueeze(-1),
}
PRODUCTS = {
    "linear": lambda x, b: F.linear(x, W.t()),
    "linear bias": lambda x, b: F.linear(x, W.t(), tt.ones(2, dtype=tt.float64)),
    "matmul": lambda x, b: x @ W,
    "matmul vector": lambda x, b: x @ V,
    "from the left": lambda x, b: W.t() @ x.transpose(b, 1 + b),
    "gram": lambda x, b: x.transpose(b, 1 + b) @ x,
    "layer_norm": lambda x, b: F.layer_norm(x, (3,), V, V),
    "rms_norm": lambda x, b: F.rms_norm(x, (3,), V),
    "dropout off": lambda x, b: F.dropout(x, 0.5, training=False),
    "to float32": lambda x, b: x.to(tt.float32),
    "half": lambda x, b: x.half().float(),
    "clone": lambda x, b: x.clone(),
    "contiguous": lambda x, b: x.transpose(b, 1 + b).contiguous(),
    "zeros_like": lambda x, b: tt.zeros_like(x),
    "full_like": lambda x, b: tt.full_like(x, 3, dtype=tt.int64),
}
CASES = {**UNARY, **DIMS, **SHAPES, **PRODUCTS}


@pytest.mark.parametrize("name", CASES)
def test_each_row_gets_what_it_gets_alone(name):
    rows = rows_of()
    assert_same(CASES[name](batch_of(rows), 1), [CASES[name](row, 0) for row in rows])


@pytest.mark.parametrize("name", CASES)
def test_rows_with_gaps_get_the_same(name):
    batch, rows = with_gaps()
    assert_same(CASES[name](batch, 1), [CASES[name](row, 0) for row in rows])


WITHOUT_GRADIENT = {
    "all dense", "any rows", "argmax rows", "argmin dense", "argsort dense", "compare", "count_nonzero rows",
    "full_like", "isfinite", "logical_not", "zeros_like",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(CASES) - WITHOUT_GRADIENT))
def test_gradients_are_those_of_each_row(name):
    rows = rows_of()

    def by_batch(leaves):
        found = parts(CASES[name](batch_of(leaves), 1))
        return [tuple(part.unbind(0)[k] for part in found) for k in range(len(leaves))]

    expected = gradients(lambda leaves: [CASES[name](leaf, 0) for leaf in leaves], rows)
    rtol, atol = tolerances(tt.float32 if "float32" in name else tt.float64)
    for one, other in zip(gradients(by_batch, rows), expected, strict=True):
        tt.testing.assert_close(one, other, rtol=rtol, atol=atol)
