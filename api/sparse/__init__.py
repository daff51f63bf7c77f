"""tt.sparse: sparse tensors."""

from __future__ import annotations

from typing import Any

from tt.core.types.layout import to_layout as _to_layout
from tt.plugins.sparse.check import check_sparse_tensor_invariants
from tt.plugins.sparse.construct import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from tt.plugins.sparse.exchange import from_scipy, to_scipy
from tt.plugins.sparse.functions import (
    addmm,
    hspmm,
    log_softmax,
    mm,
    sampled_addmm,
    smm,
    softmax,
    spsolve,
    sspaddmm,
    sum,
)
from tt.plugins.sparse.structure.whole import spdiags
from tt.sparse.gradcheck import as_sparse_gradcheck

_LAYOUTS = ("sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr")

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "from_scipy",
    "hspmm",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "smm",
    "softmax",
    "sparse_bsc",
    "sparse_bsc_tensor",
    "sparse_bsr",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo",
    "sparse_coo_tensor",
    "sparse_csc",
    "sparse_csc_tensor",
    "sparse_csr",
    "sparse_csr_tensor",
    "spdiags",
    "spsolve",
    "sspaddmm",
    "sum",
    "to_scipy",
]


def __getattr__(name: str) -> Any:
    # Layouts are looked up by name, so that a blocked or broken plugin raises with its reason.
    if name in _LAYOUTS:
        return _to_layout(name)
    if name.endswith("Tensor"):
        from tt.sparse.typed import TYPES

        if name in TYPES:
            return TYPES[name]
    raise AttributeError(f"module 'tt.sparse' has no attribute {name!r}")
