"""Coverage: which operators a backend serves, how, and in which dtypes, from the dispatcher's own tables."""

from __future__ import annotations

from tt.testing.coverage.matrix import Matrix, Row, family_of, matrix
from tt.testing.coverage.served import (
    HOWS,
    Coverage,
    How,
    Place,
    brought_by,
    compute_dtype,
    computed_by,
    coverage,
    definitions_of,
    kernel_dtypes,
    parse_place,
    passed_over,
    places,
)
from tt.testing.coverage.words import dtypes_in_words, percentage

__all__ = [
    "HOWS",
    "Coverage",
    "How",
    "Matrix",
    "Place",
    "Row",
    "brought_by",
    "compute_dtype",
    "computed_by",
    "coverage",
    "definitions_of",
    "dtypes_in_words",
    "family_of",
    "kernel_dtypes",
    "matrix",
    "parse_place",
    "passed_over",
    "percentage",
    "places",
]
