"""Segments that are given by lengths or offsets."""

from __future__ import annotations

import pytest

import tt


def reduced(offsets, reduce="sum", **options):
    return tt.segment_reduce(tt.arange(4.0), reduce, offsets=tt.tensor(offsets), **options)


def test_offsets_may_begin_and_end_within_the_data():
    assert reduced([1, 2, 4]).tolist() == [1, 5]
    assert reduced([0, 2, 3]).tolist() == [1, 2]
    assert reduced([2, 2, 3], "max").tolist() == [-float("inf"), 2]
    assert reduced([1, 3, 3], "mean").tolist()[0] == 1.5


def test_each_row_has_offsets_of_its_own():
    data = tt.arange(8.0).reshape(2, 4)
    found = tt.segment_reduce(data, "sum", offsets=tt.tensor([[0, 2, 4], [1, 1, 3]]), axis=1)
    assert found.tolist() == [[1, 5], [0, 11]]


def test_what_lies_outside_of_all_segments_has_no_gradient():
    x = tt.arange(4.0).requires_grad_()
    tt.segment_reduce(x, "sum", offsets=tt.tensor([1, 2, 3])).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("offsets", [[0, 2, 9], [-1, 2, 4], [5, 5]])
def test_offsets_outside_of_the_data_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets must lie from 0 to 4, the size of axis 0"):
        reduced(offsets)


def test_offsets_that_go_back_are_refused():
    with pytest.raises(ValueError, match="negative length"):
        reduced([0, 3, 2])


def test_unsafe_checks_nothing_and_reads_nothing_else():
    assert reduced([0, 2, 9], unsafe=True).tolist() == [1, 5]


def test_no_offsets_are_refused():
    with pytest.raises(RuntimeError, match="one element more than there are segments"):
        tt.segment_reduce(tt.arange(4.0), "sum", offsets=tt.empty(0, dtype=tt.int64))
