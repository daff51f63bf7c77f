"""The tables of all families."""

from __future__ import annotations

from typing import Final

from tt.core.by_name import module_named
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.family_index import family_index

__all__ = ["INDEXED", "homes", "table_of", "tables"]

FAMILIES: Final = (
    "pointwise",
    "binary",
    "copies",
    "reduction",
    "shaping",
    "slicing",
    "view_copies",
    "joining",
    "rearranging",
    "indexing",
    "scattering",
    "sorting",
    "embedding",
    "float8",
    "counts",
    "creation",
    "random",
    "linalg",
    "decomposition",
    "eigenpairs",
    "factors",
    "matrices",
    "nn",
    "convolution",
    "pooling",
    "unpooling",
    "resampling",
    "grid",
    "attention",
    "fft",
    "spectrogram",
    "unary",
    "special",
    "bessel",
    "gamma",
    "polynomials",
    "activation",
    "normalization",
    "native_norms",
    "distributions",
    "reparametrization",
    "norm",
    "statistics",
    "histograms",
    "segments",
    "scan",
    "loss",
    "optimizer",
    "classification",
    "margins",
    "ctc",
    "recurrent",
    "sequences",
)

INDEXED: Final = ("tt.core.composites", FAMILIES, lambda module: module.composites.functions)
"""The parameters of the index; the build makes it for wheels."""


def tables() -> list[CompositeTable]:
    """Return the composites of every family."""
    return [table_of(f"tt.core.composites.{family}") for family in FAMILIES]


def table_of(module: str) -> CompositeTable:
    """Return the composites of a family, importing it at first use."""
    table: CompositeTable = module_named(module).composites
    return table


def homes() -> dict[str, str]:
    """Return which module has the composite of an operator: operator -> import name."""
    return {op: modules[0] for op, modules in family_index(*INDEXED).items()}
