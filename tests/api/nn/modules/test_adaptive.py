"""Adaptive softmax: probabilities of frequent classes, and of clusters of rare ones."""

from __future__ import annotations

import pytest

import tt
from tt import nn


@pytest.fixture
def module():
    return nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)


def test_probabilities_of_all_classes_sum_to_1(module):
    x = tt.randn(5, 8)
    tt.testing.assert_close(module.log_prob(x).exp().sum(1), tt.ones(5))


def test_the_output_is_the_logarithm_at_the_target(module):
    x, target = tt.randn(5, 8), tt.tensor([0, 4, 9, 2, 6])
    output, loss = module(x, target)
    expected = module.log_prob(x).gather(1, target[:, None]).squeeze(1)
    tt.testing.assert_close(output, expected)
    tt.testing.assert_close(loss, -expected.mean())


def test_the_prediction_has_the_largest_probability(module):
    x = 3 * tt.randn(20, 8)
    assert tt.equal(module.predict(x), module.log_prob(x).argmax(1))


def test_clusters_have_smaller_projections(module):
    assert module.head.weight.shape == (5, 8)
    assert [tail[0].weight.shape for tail in module.tail] == [(4, 8), (2, 8)]


@pytest.mark.parametrize("cutoffs", [[], [3, 3], [5, 3], [0, 3], [10], [3.5]])
def test_wrong_cutoffs_are_refused(cutoffs):
    with pytest.raises(ValueError, match="cutoffs"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 10, cutoffs)


def test_targets_out_of_range_are_refused(module):
    with pytest.raises(RuntimeError, match="Target"):
        module(tt.zeros(2, 8), tt.tensor([0, 10]))
    with pytest.raises(RuntimeError):
        module(tt.zeros(2, 8), tt.tensor([0]))
