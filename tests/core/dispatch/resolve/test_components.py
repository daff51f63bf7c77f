"""The strided tensors that a tensor of another layout is made of."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.resolve.components import component_tensors


@pytest.mark.parametrize(
    ("layout", "names"),
    [(tt.sparse_coo, ["indices", "values"]), (tt.sparse_csr, ["crow_indices", "col_indices", "values"])],
    ids=str,
)
def test_components_share_the_memory_of_the_tensor(layout, names):
    x = tt.eye(3).to_sparse(layout=layout)
    parts = component_tensors(x)
    assert sorted(parts) == sorted(names) and all(part.layout is tt.strided for part in parts.values())
    parts["values"].mul_(2)
    assert x.to_dense().tolist() == (tt.eye(3) * 2).tolist()


def test_a_strided_tensor_has_none():
    assert component_tensors(tt.ones(2)) == {}
