from __future__ import annotations

import copy
import pickle

import pytest

from tt.distributed import ReduceOp


def test_operations_are_equal_by_kind_and_factor():
    half = ReduceOp.PREMUL_SUM(0.5)
    assert ReduceOp(ReduceOp.SUM) == ReduceOp.SUM and ReduceOp(ReduceOp.SUM) != ReduceOp.MAX
    assert half == ReduceOp(ReduceOp.PREMUL_SUM, 0.5) == ReduceOp(half) and half != ReduceOp.PREMUL_SUM(2)
    assert ReduceOp(half, 2.0).factor == 2.0
    assert len({ReduceOp(ReduceOp.SUM), ReduceOp(ReduceOp.SUM), half}) == 2


def test_operations_are_copied_and_pickled():
    half = ReduceOp.PREMUL_SUM(0.5)
    assert pickle.loads(pickle.dumps(half)) == copy.deepcopy(half) == half
    assert "PREMUL_SUM(0.5)" in repr(half) and list(ReduceOp)[:2] == ["SUM", "AVG"]


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match=r"ReduceOp\.SUM"):
        ReduceOp("sum")
