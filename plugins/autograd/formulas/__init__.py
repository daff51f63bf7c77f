"""The formulas of tt's operators: one table for each family."""

from tt.plugins.autograd.formulas import (
    activation,
    attention,
    binary,
    convolution,
    creation,
    decomposition,
    fft,
    indexing,
    joining,
    linalg,
    loss,
    norm,
    normalization,
    pointwise,
    pooling,
    random,
    reduction,
    resampling,
    scan,
    scattering,
    shaping,
    sorting,
    special,
    statistics,
    unary,
)

__all__ = ["TABLES"]

TABLES = [
    family.d
    for family in (
        pointwise,
        binary,
        reduction,
        norm,
        normalization,
        statistics,
        scan,
        shaping,
        joining,
        indexing,
        scattering,
        sorting,
        linalg,
        decomposition,
        convolution,
        pooling,
        attention,
        resampling,
        fft,
        unary,
        special,
        activation,
        loss,
        creation,
        random,
    )
]
