"""tt.sparse: sparse tensors."""

from __future__ import annotations

from typing import Any

from tt.core.layout import to_layout as _to_layout
from tt.plugins.sparse.construct import sparse_coo_tensor

__all__ = ["sparse_coo", "sparse_coo_tensor", "sparse_csr"]


def __getattr__(name: str) -> Any:
    # A layout is asked for by name, so that a plugin that is blocked or broken says why.
    if name in ("sparse_coo", "sparse_csr"):
        return _to_layout(name)
    raise AttributeError(f"module 'tt.sparse' has no attribute {name!r}")
