"""Softmax and its relatives."""

from __future__ import annotations

import numpy as np

import tt
from tt import nn

X = np.random.default_rng(0).standard_normal((2, 3, 4))
E = np.exp(X)


def test_a_dimension_sums_to_1():
    np.testing.assert_allclose(
        nn.Softmax(dim=1)(tt.tensor(X)).numpy(), E / E.sum(1, keepdims=True), rtol=1e-12
    )
    np.testing.assert_allclose(
        nn.Softmin(dim=2)(tt.tensor(X)).numpy(), 1 / E / (1 / E).sum(2, keepdims=True), rtol=1e-12
    )
    np.testing.assert_allclose(
        nn.LogSoftmax(dim=0)(tt.tensor(X)).numpy(),
        X - np.log(E.sum(0, keepdims=True)),
        rtol=1e-10,
        atol=1e-12,
    )


def test_channels_of_images_sum_to_1():
    got = nn.Softmax2d()(tt.tensor(X)[None]).numpy()
    np.testing.assert_allclose(got[0], E.reshape(2, 3, 4) / E.sum(0, keepdims=True), rtol=1e-12)
    assert repr(nn.Softmax(dim=-1)) == "Softmax(dim=-1)"
