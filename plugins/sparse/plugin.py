"""The plugin `sparse`: its manifest and registration.  Light: imports no kernels."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry

LAYOUTS: Final = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
DEVICES: Final = ("cpu", "meta")
MEMBERS: Final = (
    "_indices", "_nnz", "_values", "ccol_indices", "coalesce", "col_indices", "crow_indices", "dense_dim", "indices",
    "is_coalesced", "nnz", "resize_as_sparse_", "row_indices", "sparse_dim", "sparse_mask", "sparse_resize_",
    "sparse_resize_and_clear_", "to_dense", "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo",
    "to_sparse_csc", "to_sparse_csr",
)  # fmt: skip


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the layouts and the members of sparse tensors."""
    return Manifest(
        "sparse",
        layouts=LAYOUTS,
        namespaces=("sparse",),
        members={
            name: f"tt.plugins.sparse.{'conversion_members' if name.startswith('to_') else 'members'}:{name}"
            for name in MEMBERS
        }
        | {name: f"tt.plugins.sparse.functions:{name}" for name in ("smm", "sspaddmm")},
    )


@hookimpl
def tt_define(registry: PluginRegistry) -> None:
    """Hand over the operators."""
    for definitions in ("ops.yaml", "math.yaml"):
        registry.add_definitions(os.path.join(os.path.dirname(__file__), definitions))


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the backend and its kernels."""
    from tt.core.library import errors
    from tt.plugins.sparse import meta
    from tt.plugins.sparse.backend import SparseBackend
    from tt.plugins.sparse.compute.tables import over_tensors
    from tt.plugins.sparse.cpu import convert, kernels
    from tt.plugins.sparse.cuda import kernels as cuda_kernels
    from tt.plugins.sparse.cuda.library import CudaLibrary
    from tt.plugins.sparse.formulas import formulas, parts
    from tt.plugins.sparse.structure.tables import structure_tables

    for device in (*DEVICES, "cuda"):
        for layout in LAYOUTS:
            registry.add_backend(SparseBackend(device, layout))
    tables, cuda = kernels.tables(), CudaLibrary()
    for table in (
        *cuda_kernels.tables(cuda),
        *structure_tables("cuda", cuda_kernels.convert(cuda)),
        *tables,
        *meta.mirrored(tables),
        *over_tensors("meta"),
        *structure_tables("cpu", convert.convert),
        *structure_tables("meta", meta.convert),
    ):
        registry.add(table)
    # Without the autograd plugin formulas cannot be registered.
    with suppress(errors.PluginError, errors.PluginFailedError, errors.PluginMissingError):
        registry.add(formulas)
        registry.add(parts)
