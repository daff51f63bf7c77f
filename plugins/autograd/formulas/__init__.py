"""The formulas of tt's operators: one table for each family."""

from tt.plugins.autograd.formulas import (
    activation,
    binary,
    convolution,
    decomposition,
    fft,
    indexing,
    joining,
    linalg,
    nn,
    pointwise,
    pooling,
    reduction,
    scattering,
    shaping,
    sorting,
    special,
    unary,
)

__all__ = ["TABLES"]

TABLES = [
    family.d
    for family in (
        pointwise,
        binary,
        reduction,
        shaping,
        joining,
        indexing,
        scattering,
        sorting,
        linalg,
        decomposition,
        nn,
        convolution,
        pooling,
        fft,
        unary,
        special,
        activation,
    )
]
