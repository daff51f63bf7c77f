"""Kernels that combine elements along dimensions, in CUDA C++."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, INTEGRAL, Tuning, Walker, axes, only, wide
from tt.core.library import KernelTable, Scalar, degrees_of_freedom

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["PROGRAM", "tables"]

PROGRAM: Final = Program("reduction.cuh")

_INT64: Final = np.dtype(np.int64)
_NUMBERS: Final = (*FLOATING, *INTEGRAL)
_REAL: Final = (*_NUMBERS, "bool")


def tables(backend: CudaBackend, tuning: Tuning | None = None) -> list[KernelTable]:
    """Return the kernels of a backend; nothing is compiled before it is called."""
    table = KernelTable(device="cuda")
    reductions = _Reductions(backend, tuning or Tuning())
    dim = ("self", "dim", "keepdim")
    moments = ("self", "dim", "correction", "keepdim")
    for op, function, dtypes, takes in (
        # --- sums, products, truth ---------------------------------------------------------------------------------
        ("sum", reductions.plain("Sum"), _NUMBERS, ("self",)),
        ("sum.dim", reductions.plain("Sum"), _NUMBERS, dim),
        ("nansum", reductions.plain("NanSum"), FLOATING, dim),
        ("mean", reductions.plain("Mean"), FLOATING, ("self",)),
        ("mean.dim", reductions.plain("Mean"), FLOATING, dim),
        ("prod", reductions.plain("Product"), _NUMBERS, ("self",)),
        ("prod.dim", reductions.plain("Product"), _NUMBERS, dim),
        ("all", reductions.truth("All"), _REAL, ("self",)),
        ("all.dim", reductions.truth("All"), _REAL, dim),
        ("any", reductions.truth("Any"), _REAL, ("self",)),
        ("any.dim", reductions.truth("Any"), _REAL, dim),
        ("count_nonzero", reductions.count_nonzero, _REAL, ("self", "dim")),
        # --- extremes ----------------------------------------------------------------------------------------------
        ("amax", reductions.extreme("Largest"), _REAL, dim),
        ("amin", reductions.extreme("Smallest"), _REAL, dim),
        ("max", reductions.extreme("Largest"), _REAL, ("self",)),
        ("min", reductions.extreme("Smallest"), _REAL, ("self",)),
        ("aminmax", reductions.aminmax, _REAL, dim),
        ("max.dim", reductions.extreme_and_place("FirstLargest"), _REAL, dim),
        ("min.dim", reductions.extreme_and_place("FirstSmallest"), _REAL, dim),
        ("argmax", reductions.place("FirstLargest"), _NUMBERS, dim),
        ("argmin", reductions.place("FirstSmallest"), _NUMBERS, dim),
        # --- moments, norms ----------------------------------------------------------------------------------------
        ("var", reductions.moments("var", "Variance", False), FLOATING, moments),
        ("std", reductions.moments("std", "Deviation", False), FLOATING, moments),
        ("var_mean", reductions.moments("var_mean", "Variance", True), FLOATING, moments),
        ("std_mean", reductions.moments("std_mean", "Deviation", True), FLOATING, moments),
        ("logsumexp", reductions.plain("LogSumExp"), FLOATING, dim),
        ("_vector_norm", reductions.vector_norm, FLOATING, ("self", "ord", "dim", "keepdim")),
    ):
        table.kernel(op, function, dtypes=dtypes, takes=takes, half="native", priority=1)
    return [table]


def _expect_elements(self: StridedHandle, dims: tuple[int, ...]) -> None:
    """Raise, because an empty line has no largest element; the shape rule explains it."""
    if any(self.shape[dim] == 0 for dim in dims):
        raise ValueError("a reduction of no elements, which the shape rule refuses")


class _Reductions:
    """The kernels of a backend, as functions over handles."""

    def __init__(self, backend: CudaBackend, tuning: Tuning) -> None:
        self._walk = Walker(backend, PROGRAM, tuning).reduce

    def _one(
        self,
        name: str,
        self_: StridedHandle,
        dims: tuple[int, ...],
        keepdim: bool,
        dtype: np.dtype[Any],
        **how: Any,
    ) -> StridedHandle:
        results = self._walk(
            f"reduction::{name}<{name_of(self_.dtype)}>", (self_,), dims, keepdim, (dtype, None), **how
        )
        return only(results)

    def plain(self, name: str) -> Callable[..., StridedHandle]:
        """Return a reduction whose result has the dtype of the elements."""

        def kernel(
            self_: StridedHandle, dim: int | Sequence[int] | None = None, keepdim: bool = False
        ) -> StridedHandle:
            return self._one(name, self_, axes(dim, self_.ndim), keepdim, self_.dtype)

        return kernel

    def truth(self, name: str) -> Callable[..., StridedHandle]:
        """Return all or any; over an empty list of dimensions these two combine nothing."""

        def kernel(
            self_: StridedHandle, dim: int | Sequence[int] | None = None, keepdim: bool = False
        ) -> StridedHandle:
            # An empty list of dimensions reduces none here, although it means all to sums; PyTorch does the
            # same.
            nothing = dim is not None and not isinstance(dim, int) and not len(dim)
            dims = () if nothing else axes(dim, self_.ndim)
            # uint8 was PyTorch's type of truth before bool, and its results kept it.
            dtype = self_.dtype if self_.dtype == np.uint8 else np.dtype(np.bool_)
            return self._one(name, self_, dims, keepdim, dtype)

        return kernel

    def count_nonzero(self, self_: StridedHandle, dim: int | Sequence[int] | None = None) -> StridedHandle:
        return self._one("CountNonzero", self_, axes(dim, self_.ndim), False, _INT64)

    def extreme(self, name: str) -> Callable[..., StridedHandle]:
        """Return a reduction that needs elements."""

        def kernel(
            self_: StridedHandle, dim: int | Sequence[int] | None = None, keepdim: bool = False
        ) -> StridedHandle:
            dims = axes(dim, self_.ndim)
            _expect_elements(self_, dims)
            return self._one(name, self_, dims, keepdim, self_.dtype)

        return kernel

    def aminmax(self, self_: StridedHandle, dim: int | None, keepdim: bool) -> tuple[Any, ...]:
        dims = axes(dim, self_.ndim)
        _expect_elements(self_, dims)
        dtype = self_.dtype
        return self._walk(
            f"reduction::SmallestAndLargest<{name_of(dtype)}>", (self_,), dims, keepdim, (dtype, dtype)
        )

    def extreme_and_place(self, name: str) -> Callable[..., tuple[Any, ...]]:
        """Return a reduction to the extreme elements and their places."""

        def kernel(self_: StridedHandle, dim: int, keepdim: bool) -> tuple[Any, ...]:
            dims = axes(dim, self_.ndim)
            _expect_elements(self_, dims)
            operation = f"reduction::{name}<{name_of(self_.dtype)}>"
            # Ordered, as the place along the line is a result; of equal extremes the first counts.
            return self._walk(operation, (self_,), dims, keepdim, (self_.dtype, _INT64), ordered=True)

        return kernel

    def place(self, name: str) -> Callable[..., Any]:
        """Return a reduction to the places of extreme elements; without dim, those in the flattened tensor."""

        def kernel(self_: StridedHandle, dim: int | None, keepdim: bool) -> Any:
            dims = axes(dim, self_.ndim)
            _expect_elements(self_, dims)
            operation = f"reduction::{name}<{name_of(self_.dtype)}>"
            return self._walk(operation, (self_,), dims, keepdim, (None, _INT64), ordered=True)[1]

        return kernel

    def moments(self, op: str, name: str, both: bool) -> Callable[..., Any]:
        """Return the variance or its root, alone or with the mean."""

        def kernel(
            self_: StridedHandle, dim: int | Sequence[int] | None, correction: float | None, keepdim: bool
        ) -> Any:
            dims = axes(dim, self_.ndim)
            freedom = degrees_of_freedom(op, math.prod(self_.shape[d] for d in dims), correction)
            results = self._walk(
                f"reduction::{name}<{name_of(self_.dtype)}>", (self_,), dims, keepdim,
                (self_.dtype, self_.dtype if both else None), fact=float(freedom),
            )  # fmt: skip
            return results if both else results[0]

        return kernel

    def vector_norm(
        self, self_: StridedHandle, ord: Scalar, dim: int | Sequence[int] | None, keepdim: bool
    ) -> StridedHandle:
        if isinstance(ord, complex):
            raise TypeError("an order that is not a real number, which the shape rule refuses")
        dims = axes(dim, self_.ndim)
        order, dtype = float(ord), self_.dtype
        empty = any(self_.shape[d] == 0 for d in dims)
        # Sums of nothing are 0, but there is no largest or smallest of no elements.
        if order < 0 or order == math.inf:
            _expect_elements(self_, dims)
        # The usual orders need no powers.
        named = {0.0: "Norm0", 1.0: "Norm1", 2.0: "Norm2", math.inf: "LargestSize", -math.inf: "SmallestSize"}
        if order in named:
            return self._one(named[order], self_, dims, keepdim, dtype)
        # The sum of no powers is 0, and there is no element to scale by.
        if empty:
            return self._one("Norm1", self_, dims, keepdim, dtype)
        decisive = "LargestSize" if order > 0 else "SmallestSize"
        # In the wide dtype, so that the elements keep their digits when they are divided.
        scale = self._one(f"{decisive}Wide", self_, dims, keepdim, wide(dtype))
        return self._one("NormP", self_, dims, keepdim, dtype, extra=scale, fact=order)
