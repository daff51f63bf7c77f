"""Batches of rows for the tests of jagged tensors, and the comparison with a loop over their rows."""

from __future__ import annotations

import numpy as np

import tt

SIZES = (2, 4, 1)


def rows_of(tail=(3,), sizes=SIZES, seed=0, dtype=tt.float64):
    """Return rows with random elements."""
    rng = np.random.default_rng(seed)
    return [tt.tensor(rng.uniform(0.2, 1.8, (n, *tail))).to(dtype) for n in sizes]


def batch_of(rows, **options):
    """Return rows as a jagged tensor."""
    return tt.nested.as_nested_tensor(rows, **options)


def with_gaps(tail=(3,), seed=0):
    """Return a jagged tensor with gaps between its rows, and the rows."""
    rng = np.random.default_rng(seed)
    dense = tt.tensor(rng.uniform(0.2, 1.8, (3, 5, *tail)))
    starts, lengths = [1, 0, 2], [2, 4, 1]
    batch = tt.nested.narrow(dense, 1, tt.tensor(starts), tt.tensor(lengths), layout=tt.jagged)
    return batch, [dense[k, s : s + n] for k, (s, n) in enumerate(zip(starts, lengths, strict=True))]


def parts(found):
    """Return what an operator returned as a list of tensors."""
    return list(found) if isinstance(found, tuple | list) else [found]


def split(found):
    """Return the rows of a jagged tensor, or those of a dense one whose first dimension is the batch."""
    return found.unbind(0)


def assert_same(found, expected):
    """Compare a result with the list of the results of rows."""
    for index, one in enumerate(parts(found)):
        wanted = [parts(row)[index] for row in expected]
        rows = split(one)
        assert len(rows) == len(wanted)
        for row, other in zip(rows, wanted, strict=True):
            assert tuple(row.shape) == tuple(other.shape)
            assert row.dtype is other.dtype
            tt.testing.assert_close(row.detach(), other.detach(), equal_nan=True)


def weighted(found):
    """Return a number that depends on all floating elements of a result, each with a weight of its own."""
    total = tt.zeros((), dtype=tt.float64)
    for row in parts(found):
        if row.dtype.is_floating_point:
            flat = row.to(tt.float64).reshape(-1)
            total = total + (flat * tt.arange(1, flat.numel() + 1, dtype=tt.float64)).sum()
    return total


def gradients(function, tensors):
    """Return the gradients of a function that returns results of rows."""
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    results = function(leaves)
    sum((weighted(part) for result in results for part in parts(result)), tt.zeros(())).backward()
    return [leaf.grad for leaf in leaves]
