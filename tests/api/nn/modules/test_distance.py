"""Distances and cosines of rows."""

from __future__ import annotations

import tt
from tt import nn

A, B = tt.tensor([[0.0, 0.0], [1.0, 0.0]]), tt.tensor([[3.0, 4.0], [1.0, 1.0]])


def test_distances():
    tt.testing.assert_close(nn.PairwiseDistance(eps=0.0)(A, B), tt.tensor([5.0, 1.0]))
    tt.testing.assert_close(
        nn.PairwiseDistance(p=1.0, eps=0.0, keepdim=True)(A, B), tt.tensor([[7.0], [1.0]])
    )


def test_cosines():
    tt.testing.assert_close(nn.CosineSimilarity()(B, A + 1), tt.tensor([7 / 50**0.5, 3 / 10**0.5]))
    assert nn.CosineSimilarity(dim=0)(A, B).shape == (2,)
    assert nn.CosineSimilarity()(A, B)[0] == 0  # a vector of length 0 has no direction
