"""The plugin `sparse`: what it brings, and how it registers.  Light: imports no kernels."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry

MEMBERS: Final = (
    "_indices", "_nnz", "_values", "coalesce", "dense_dim", "indices", "is_coalesced", "sparse_dim", "to_dense",
    "to_sparse", "values",
)  # fmt: skip


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the layouts and the members of sparse tensors."""
    return Manifest(
        "sparse",
        layouts=("sparse_coo", "sparse_csr"),
        namespaces=("sparse",),
        members={name: f"tt.plugins.sparse.members:{name}" for name in MEMBERS},
    )


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the operators, the backend and its kernels."""
    from tt.core.library import errors
    from tt.plugins.sparse.cpu.backend import CooBackend
    from tt.plugins.sparse.cpu.kernels import tables
    from tt.plugins.sparse.formulas import formulas

    registry.add_definitions(Path(__file__).parent / "ops.yaml")
    registry.add_backend(CooBackend())
    for table in tables:
        registry.add(table)
    # Without the plugin that differentiates there is nobody to take them.
    with suppress(errors.PluginError, errors.PluginFailedError, errors.PluginMissingError):
        registry.add(formulas)
