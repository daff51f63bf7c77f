"""Losses with margins: shapes that broadcast."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F


@pytest.mark.parametrize("shape", [(4,), (4, 4), (2, 1, 4)])
def test_a_target_that_is_longer_is_summed_and_divided_by_the_classes_of_the_input(
    shape: tuple[int, ...],
) -> None:
    x, target = tt.zeros(4, 1), tt.ones(shape)
    each = F.multilabel_soft_margin_loss(x, target, reduction="none")
    wide = tt.ones(shape).expand(tt.broadcast_tensors(x, target)[0].shape)
    assert each.shape == wide.sum(1).shape
    assert tt.allclose(each, wide.sum(1) * 0.6931472)


def test_an_infinite_score_of_a_wrong_class_has_an_infinite_loss() -> None:
    x = tt.tensor([3e38, float("inf"), 1.0, -float("inf")], dtype=tt.float64)
    target = tt.tensor([1.0, 0.0, 0.0, 1.0], dtype=tt.float64)
    assert F.multilabel_soft_margin_loss(x, target, reduction="sum").item() == float("inf")
