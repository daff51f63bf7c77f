"""How texts name the package."""

from __future__ import annotations

import pytest

import tt
from tt.core.blocks import swapped
from tt.core.types.layout import layout_name
from tt.core.types.spelling import SPELLING
from tt.masked.masks import is_sparse

VALUES = (tt.float32, tt.bool, tt.Size([2]), tt.sparse_csr, tt.channels_last)


@pytest.mark.parametrize("package", ["tt", "torch"])
def test_texts_name_the_package_of_the_process(package):
    with swapped(SPELLING, "package", package):
        texts = [str(value) for value in VALUES]
        assert texts == [
            f"{package}.{name}" for name in ("float32", "bool", "Size([2])", "sparse_csr", "channels_last")
        ]
        assert [repr(value) for value in VALUES] == texts


@pytest.mark.parametrize("package", ["tt", "torch"])
def test_nothing_is_decided_by_texts(package):
    with swapped(SPELLING, "package", package):
        assert repr(tt.ones(1, dtype=tt.float64)) == f"tensor([1.], dtype={package}.float64)"
        assert tt.empty(1, layout=f"{package}.strided").layout is tt.strided
        assert tt.zeros(1, dtype=f"{package}.int8").dtype is tt.int8
        rows = tt.nested.nested_tensor([tt.ones(2), tt.ones(3)], layout=tt.jagged)
        assert tt.ones_like(rows).layout is tt.jagged
        assert is_sparse(tt.eye(2).to_sparse()) and not is_sparse(tt.eye(2))
        assert layout_name(tt.sparse_csr) == layout_name(f"{package}.sparse_csr") == "sparse_csr"
