"""Layouts: one object for each, found by name."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tt.core.types.layout import to_layout
from tt.errors import UnknownNameError


@pytest.mark.parametrize("name", ["strided", "sparse_coo", "sparse_csr"])
def test_there_is_one_object_for_each_layout(name):
    layout = getattr(tt, name)
    assert to_layout(name) is to_layout(f"tt.{name}") is to_layout(layout) is layout
    assert pickle.loads(pickle.dumps(layout)) is copy.deepcopy(layout) is layout
    assert repr(layout) == f"tt.{name}"


def test_an_unknown_layout_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown layout 'sparse_cso'; did you mean 'sparse_c"):
        to_layout("sparse_cso")
