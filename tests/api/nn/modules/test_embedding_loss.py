"""Losses of pairs and triplets of vectors, by hand."""

from __future__ import annotations

import pytest

import tt
from tt import nn

A, P, N = tt.tensor([[0.0, 0.0]]), tt.tensor([[3.0, 4.0]]), tt.tensor([[0.0, 1.0]])


def test_triplets():
    assert nn.TripletMarginLoss(margin=1.0)(A, P, N).item() == pytest.approx(5, abs=1e-4)
    assert nn.TripletMarginLoss(p=1.0)(A, P, N).item() == pytest.approx(7, abs=1e-4)
    # Swapped: from the positive to the negative is farther than from the anchor.
    assert nn.TripletMarginLoss(swap=True)(P, A, N).item() == pytest.approx(5, abs=1e-4)
    with pytest.raises(ValueError, match="margin"):
        nn.TripletMarginLoss(margin=0)


def test_triplets_with_a_distance():
    largest = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().amax(-1))
    assert largest(A, P, N).item() == 4
    assert nn.TripletMarginWithDistanceLoss(margin=0.5)(A, P, N).item() == pytest.approx(4.5, abs=1e-4)


def test_cosines():
    loss = nn.CosineEmbeddingLoss(margin=0.5, reduction="none")
    pairs = tt.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), tt.tensor([[0.0, 2.0], [2.0, 0.0], [3.0, 4.0]])
    got = loss(*pairs, tt.tensor([1, -1, -1]))
    tt.testing.assert_close(got, tt.tensor([1.0, 0.5, 0.1]), rtol=1e-4, atol=1e-4)


def test_ranks_and_hinges():
    assert nn.MarginRankingLoss(margin=0.5, reduction="none")(
        tt.tensor([1.0, 1.0]), tt.tensor([2.0, 0.0]), tt.tensor([1.0, 1.0])
    ).tolist() == [1.5, 0]
    assert nn.HingeEmbeddingLoss(reduction="none")(tt.tensor([0.25, 0.25]), tt.tensor([1, -1])).tolist() == [
        0.25,
        0.75,
    ]
