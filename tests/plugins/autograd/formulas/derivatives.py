"""Derivatives of functions of one tensor, one order after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tt

__all__ = ["derivatives", "hessian"]


def derivatives(function: Callable[[Any], Any], x: Any, order: int) -> list[Any]:
    """Return the derivatives of an elementwise function at numbers, from the first to that of some order."""
    at = tt.tensor(x, dtype=tt.float64, requires_grad=True)
    value, results = function(at), []
    for _ in range(order):
        (value,) = tt.autograd.grad(value.sum(), at, create_graph=True)
        results.append(value.detach().numpy())
    return results


def hessian(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the second derivatives of a number by all pairs of elements, by two passes backward."""
    at = tt.tensor(x, dtype=tt.float64, requires_grad=True)
    (slope,) = tt.autograd.grad(function(at), at, create_graph=True)
    rows = [tt.autograd.grad(part, at, retain_graph=True)[0].reshape(-1) for part in slope.reshape(-1)]
    return np.stack([row.numpy() for row in rows])
