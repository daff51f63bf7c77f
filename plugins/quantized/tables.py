"""The kernels of quantized tensors by operator."""

from __future__ import annotations

from typing import Any, Final

from tt.core.library import REGISTRY, KernelTable
from tt.plugins.quantized.compute import COMPUTE, JOINING
from tt.plugins.quantized.copies import COMPARISONS, COPIES, IN_PLACE, equal
from tt.plugins.quantized.pooling import POOLING
from tt.plugins.quantized.views import VIEWS

__all__ = ["PARTS", "tables"]

DTYPES: Final = ("quantized",)
PARTS: Final = (
    "T", "adjoint", "broadcast_to", "chunk", "expand_as", "flatten", "hardsigmoid.inplace",
    "hardtanh.inplace", "leaky_relu.inplace", "mH", "mT", "moveaxis", "movedim", "movedim.int", "narrow", "ravel",
    "relu.inplace", "repeat", "reshape", "reshape_as", "split_with_sizes", "stack", "std.unbiased", "std.unbiased_dim",
    "swapaxes", "swapdims", "threshold.inplace", "to.device", "to.dtype", "to.other", "unflatten", "view_as",
)  # fmt: skip
"""Operators whose composites consist of operators that quantized tensors have."""


def _names(op: str) -> list[str]:
    return [argument.name for argument in REGISTRY.operator(op).definition.signature.arguments]


def tables(device: str) -> list[KernelTable]:
    """Return the tables of a device, with quantized tensors alone and together with dense ones."""
    alone, mixed = KernelTable(device, "quantized"), KernelTable(device, ("quantized", "strided"))
    options: dict[str, Any] = {"dtypes": DTYPES}
    for op, view in VIEWS.items():
        alone.kernel(op, view, takes=_names(op), **options)
    for op, function in {**COPIES, **COMPUTE, **POOLING}.items():
        for table in (alone, mixed) if op in WITH_DENSE else (alone,):
            table.kernel(op, function, takes=_names(op), tensors=True, **options)
    for op, function in {**COMPARISONS, **JOINING}.items():
        for table in (alone, mixed):
            table.kernel(op, function, takes=_names(op), tensors=True, **options)
    for op, function in IN_PLACE.items():
        for table in (alone, mixed):
            table.kernel(op, function, takes=_names(op), form="inplace", tensors=True, **options)
    for table in (alone, mixed):
        table.kernel("equal", equal, tensors=True, **options)
    for op in PARTS:
        composite = REGISTRY.composite(op)
        if composite is not None:
            for table in (alone, mixed) if op in WITH_DENSE else (alone,):
                table.kernel(op, composite.function, takes=_names(op), tensors=True, **options)
    return [alone, mixed]


WITH_DENSE: Final = frozenset({"clamp", "expand_as", "index", "index_select", "reshape_as", "view_as"})
"""Operators with dense arguments next to the quantized one."""
