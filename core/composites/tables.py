"""The tables of all families."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tt.core.dispatch.registry.tables import CompositeTable

__all__ = ["tables"]

FAMILIES: Final = (
    "pointwise",
    "binary",
    "copies",
    "reduction",
    "shaping",
    "slicing",
    "joining",
    "rearranging",
    "indexing",
    "scattering",
    "sorting",
    "embedding",
    "creation",
    "random",
    "linalg",
    "decomposition",
    "matrices",
    "nn",
    "convolution",
    "pooling",
    "resampling",
    "attention",
    "fft",
    "unary",
    "special",
    "activation",
    "normalization",
    "norm",
    "statistics",
    "scan",
    "loss",
    "optimizer",
    "classification",
)


def tables() -> list[CompositeTable]:
    """Return the composites of every family; importing them costs, so the registry calls this when it needs one."""
    return [import_module(f"tt.core.composites.{family}").composites for family in FAMILIES]
