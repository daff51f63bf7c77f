"""Kernels that write to places along a dimension."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.indexing import adding, places, put_flat
from tt.backends.array_api.kernel_builder import KernelBuilder

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    if not builder.has("take searchsorted argsort"):
        return
    xp = builder.xp

    def part_of(src: Any, index: Any) -> Any:
        """Return the part of the values that has a place."""
        return src[tuple(slice(0, size) for size in index.shape)] if src.ndim else src

    builder.kernel("scatter", lambda self, dim, index, src: put_flat(
        builder, self, places(builder, self, dim, index), part_of(src, index)), half="native", check=True)  # fmt: skip

    @builder.kernel("scatter_add", check=True)
    def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
        add = adding(builder, self)
        return put_flat(builder, self, places(builder, self, dim, index), part_of(src, index), add)

    @builder.kernel("scatter_reduce", check=True)
    def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
        boolean = builder.is_kind(self, "bool")
        combine = {
            "sum": adding(builder, self), "mean": xp.add, "prod": xp.logical_and if boolean else xp.multiply,
            "amax": xp.logical_or if boolean else xp.maximum, "amin": xp.logical_and if boolean else xp.minimum,
        }[reduce]  # fmt: skip
        return put_flat(builder, self, places(builder, self, dim, index), part_of(src, index), combine, include_self,
                        reduce == "mean")  # fmt: skip
