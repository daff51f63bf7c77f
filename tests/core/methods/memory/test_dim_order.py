"""`dim_order`: the order of the dimensions in memory."""

from __future__ import annotations

import itertools

import pytest

import tt


@pytest.mark.torch
def test_orders_of_dimensions_are_those_of_pytorch():
    import torch

    formats = [(tt.contiguous_format, torch.contiguous_format), (tt.channels_last, torch.channels_last)]
    for shape in itertools.product((1, 2, 3), repeat=4):
        for order in itertools.permutations(range(4)):
            ours, theirs = tt.empty(shape).permute(order), torch.empty(shape).permute(order)
            assert ours.dim_order() == theirs.dim_order()
            for check, same in ((True, True), *(([a], [b]) for a, b in formats)):
                assert refused(ours, check) == refused(theirs, same), (shape, order, check)
    for order in itertools.permutations(range(3)):
        ours, theirs = (m.empty(2, 3, 4).permute(order)[:, None].expand(-1, 5, -1, -1) for m in (tt, torch))
        assert ours.dim_order() == theirs.dim_order()


def refused(x, check):
    """Return whether a check of the order of dimensions raises."""
    try:
        x.dim_order(ambiguity_check=check)
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize(("check", "error"), [(True, RuntimeError), (3, TypeError)])
def test_a_tensor_in_several_orders_and_a_wrong_check_are_refused(check, error):
    with pytest.raises(error):
        tt.zeros(1, 2).dim_order(ambiguity_check=check)
