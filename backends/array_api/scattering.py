"""Kernels that write to places along a dimension."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.indexing import adding, places, put_flat
from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable

__all__ = ["table"]

table = NamespaceTable(needs="take searchsorted argsort")


def part_of(src: Any, index: Any) -> Any:
    """Return the part of the values that has a place."""
    return src[tuple(slice(0, size) for size in index.shape)] if src.ndim else src


table.kernel("scatter", lambda xp, self, dim, index, src: put_flat(
    xp, self, places(xp, self, dim, index), part_of(src, index)), half="native", check=True)  # fmt: skip


@table.kernel("scatter_add", check=True)
def scatter_add(xp: Namespace, self: Any, dim: int, index: Any, src: Any) -> Any:
    add = adding(xp, self)
    return put_flat(xp, self, places(xp, self, dim, index), part_of(src, index), add)


@table.kernel("scatter_reduce", check=True)
def scatter_reduce(
    xp: Namespace, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
) -> Any:
    boolean = xp.is_kind(self, "bool")
    combine = {
        "sum": adding(xp, self), "mean": xp.add, "prod": xp.logical_and if boolean else xp.multiply,
        "amax": xp.logical_or if boolean else xp.maximum, "amin": xp.logical_and if boolean else xp.minimum,
    }[reduce]  # fmt: skip
    return put_flat(xp, self, places(xp, self, dim, index), part_of(src, index), combine, include_self,
                    reduce == "mean")  # fmt: skip
