"""The same tensors in tt and in PyTorch, and their comparison."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tt

torch = pytest.importorskip("torch")

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
MATRIX = [[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 5.0], [0.0, 0.0, 0.0, 0.0]]


def options_of(layout: str, blocksize: tuple[int, int] = (2, 2)) -> dict[str, Any]:
    """Return the arguments of the conversion to a layout."""
    return {"blocksize": blocksize} if layout in ("sparse_bsr", "sparse_bsc") else {}


def ours(layout: str, values: Any = MATRIX, **options: Any) -> tt.Tensor:
    return tt.tensor(values).to_sparse(layout=layout, **options_of(layout), **options)


def theirs(layout: str, values: Any = MATRIX, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the compressed layouts are in beta
        return torch.tensor(values).to_sparse(layout=getattr(torch, layout), **options_of(layout), **options)


def text(tensor: Any) -> str:
    """Return the text of a tensor, alike for both: lines are broken by their length, and "torch." is longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return " ".join(repr(tensor).replace("torch.", "tt.").split())


def same(found: Any, expected: Any) -> None:
    """Compare layout, size, dtype, indices and values."""
    assert text(found) == text(expected)


def random_matrix(rng: np.random.Generator, shape: tuple[int, ...], density: float) -> np.ndarray[Any, Any]:
    """Return small integers, of which about so many are not zero."""
    return (rng.integers(1, 9, shape) * (rng.random(shape) < density)).astype(np.float32)
