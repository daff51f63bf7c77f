"""Samples of neural-network operators."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample

family = FamilyTable()


@family("linear")
def linear(make: Inputs) -> Iterator[Sample]:
    for shape in ((3,), (2, 3), (4, 2, 3), (0, 3)):
        for bias in (None, make.tensor(5, low=-2, high=2)):
            args = (make.tensor(*shape, low=-2, high=2), make.tensor(5, 3, low=-2, high=2), bias)
            yield Sample(args, name=f"shape {shape}, bias {bias is not None}")
    yield Sample((make.tensor(2, 4), make.tensor(5, 3)), name="error: shapes", error=RuntimeError)
    yield Sample(
        (make.tensor(2, 3), make.tensor(5, 3), make.tensor(4)), name="error: bias", error=RuntimeError
    )
