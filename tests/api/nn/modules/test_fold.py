"""Fold and Unfold: blocks of images as columns."""

from __future__ import annotations

import tt
from tt import nn


def test_blocks_become_columns():
    x = tt.arange(9.0).reshape(1, 1, 3, 3)
    assert nn.Unfold(2)(x)[0].T.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]


def test_folding_adds_what_overlaps():
    x = tt.ones(1, 1, 3, 3)
    assert nn.Fold((3, 3), 2)(nn.Unfold(2)(x))[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


def test_blocks_that_do_not_overlap_come_back():
    x = tt.randn(2, 3, 4, 6)
    assert tt.equal(nn.Fold((4, 6), (2, 3), stride=(2, 3))(nn.Unfold((2, 3), stride=(2, 3))(x)), x)
    assert repr(nn.Unfold(2)) == "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)"
    assert repr(nn.Fold(4, 2)) == "Fold(output_size=4, kernel_size=2, dilation=1, padding=0, stride=1)"
