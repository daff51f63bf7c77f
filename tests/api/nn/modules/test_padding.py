"""Padding against numpy.pad."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

MODES = {"Zero": "constant", "Reflection": "reflect", "Replication": "edge", "Circular": "wrap"}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", MODES)
def test_a_mode_is_that_of_numpy(kind, dims):
    x = np.random.default_rng(0).standard_normal((2, 2) + (4,) * dims).astype("f4")
    padding = [1, 2, 0, 3, 2, 1][: 2 * dims]
    widths = [(0, 0)] * 2 + [tuple(padding[2 * i : 2 * i + 2]) for i in reversed(range(dims))]
    module = getattr(nn, f"{kind}Pad{dims}d")(tuple(padding))
    expected = np.pad(x, widths, mode=MODES[kind])
    assert np.array_equal(module(tt.tensor(x)).numpy(), expected)
    assert np.array_equal(module(tt.tensor(x[0])).numpy(), expected[0])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_constant_on_all_sides(dims):
    module = getattr(nn, f"ConstantPad{dims}d")(1, 7.0)
    padded = module(tt.zeros(1, *(1,) * dims))
    assert padded.shape == (1, *(3,) * dims) and float(padded.sum()) == 7 * (3**dims - 1)
    assert repr(module) == f"ConstantPad{dims}d(padding={(1,) * 2 * dims}, value=7.0)"


def test_negative_padding_takes_away():
    assert nn.ZeroPad1d((-1, 1))(tt.tensor([[1.0, 2.0, 3.0]])).tolist() == [[2, 3, 0]]


@pytest.mark.parametrize(("dims", "ranks"), [(1, (1, 4)), (2, (2, 5)), (3, (3, 6))])
def test_circular_padding_refuses_other_ranks(dims, ranks):
    for rank in ranks:
        with pytest.raises(ValueError, match=f"{dims + 1}D or {dims + 2}D input"):
            getattr(nn, f"CircularPad{dims}d")(1)(tt.zeros((3,) * rank))
