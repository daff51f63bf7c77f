"""The tables of arithmetic kernels of an array library, for every layout and every pair of layouts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from tt.core.library import KernelTable, Tensor, handle_of, ops
from tt.plugins.sparse.compute import arithmetic, elements, products, reduction, sampled, solve
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.compute.pointwise import kernels_of_one, kernels_of_two, with_dense
from tt.plugins.sparse.compute.whole import kernels_of_reductions
from tt.plugins.sparse.layouts import LAYOUTS
from tt.plugins.sparse.parts import as_tensor_of

__all__ = ["arithmetic_tables", "over_tensors"]

MATRICES = ("mm", "mv", "bmm", "matmul", "sparse::mm")
SECOND = {"mm": "mat2", "mv": "vec", "bmm": "mat2", "matmul": "other", "sparse::mm": "mat2"}


class _Tables:
    """Tables by the layouts of a call and of its result."""

    def __init__(self, lib: ArrayLibrary) -> None:
        self.lib = lib
        self.tables: dict[tuple[tuple[str, ...], str | None], KernelTable] = {}

    def table(self, layouts: tuple[str, ...], result: str | None = None) -> KernelTable:
        """Return the table of the layouts of a call and of its result."""
        key = (tuple(sorted(layouts)), result)
        if key not in self.tables:
            layout = layouts if len(layouts) > 1 else layouts[0]
            self.tables[key] = KernelTable(self.lib.device, layout, result=result)
        return self.tables[key]

    def add(
        self, op: str, function: Callable[..., Any], takes: tuple[str, ...], layouts: tuple[str, ...],
        result: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Add a kernel over handles."""
        self.table(layouts, result).kernel(op, self.lib.bind(function), takes=takes, **options)


def arithmetic_tables(lib: ArrayLibrary) -> list[KernelTable]:
    """Return the tables of a library."""
    tables = _Tables(lib)
    for layout in LAYOUTS:
        _of_one(tables, layout)
        _beside_dense(tables, layout)
        _of_two(tables, (layout,), layout)
    for first, second in combinations(LAYOUTS, 2):
        _of_two(tables, (first, second), "sparse_csr")
    return [*tables.tables.values(), *over_tensors(lib.device)]


def _of_one(tables: _Tables, layout: str) -> None:
    one = (layout,)
    tables.add("sum", reduction.sum_values, ("self", "dtype"), one, "strided")
    tables.add("sparse::sum_to_dense", reduction.sum_dims, ("self", "dim", "keepdim"), one, "strided")
    if layout == "sparse_coo":
        tables.add("sparse::sum_dims", reduction.sum_dims, ("self", "dim", "keepdim"), one)
    if layout == "sparse_csr":
        tables.add("sparse::sum_dims", reduction.sum_matrix, ("self", "dim", "keepdim"), one)
    tables.add("sparse::fiber_sum", reduction.fiber_sum, ("self", "dim"), one)
    tables.add("sparse::softmax", reduction.softmax, ("self", "dim", "logarithm"), one)
    tables.add("sparse::values_at", elements.gather, ("self", "mask"), one, "strided", half="native")
    tables.add("sparse::spread", reduction.spread, ("self", "like", "dim", "keepdim"), one, half="native")


def _beside_dense(tables: _Tables, layout: str) -> None:
    pair = (layout, "strided")
    tables.add("sparse::values_at", elements.gather, ("self", "mask"), pair, "strided", half="native")
    tables.add("sparse::spread", reduction.spread, ("self", "like", "dim", "keepdim"), pair, half="native")
    tables.add("add", arithmetic.add_dense, ("self", "other", "alpha"), pair, "strided")
    tables.add("sub", arithmetic.sub_dense, ("self", "other", "alpha"), pair, "strided")
    tables.add("add", arithmetic.add_dense_, ("self", "other", "alpha"), pair, "strided", form="inplace")
    tables.add("sub", arithmetic.sub_dense_, ("self", "other", "alpha"), pair, "strided", form="inplace")
    for op in MATRICES:
        tables.add(op, products.matmul, ("self", SECOND[op]), pair, "strided")
    tables.add("sparse::sampled_mm", sampled.sampled_mm, ("self", "mat1", "mat2"), pair)
    if layout == "sparse_csr":
        tables.add("sparse::mm_reduce", sampled.mm_reduce, ("self", "mat2", "reduce"), pair, "strided")
        tables.add("sparse::mm_reduce_backward", sampled.mm_reduce_backward, ("self", "grad", "mat2", "chosen"),
                 pair, "strided")  # fmt: skip
    tables.add("sparse::spsolve", solve.spsolve, ("A", "B", "left"), pair, "strided")


def _of_two(tables: _Tables, layouts: tuple[str, ...], result: str) -> None:
    tables.add("add", arithmetic.add, ("self", "other", "alpha"), layouts, result)
    tables.add("sub", arithmetic.sub, ("self", "other", "alpha"), layouts, result)
    if len(layouts) > 1:
        tables.add("mul", arithmetic.mul, ("self", "other"), layouts, result)
        tables.add("sparse::values_at", elements.gather, ("self", "mask"), layouts, "strided", half="native")
        tables.add(
            "sparse::spread", reduction.spread, ("self", "like", "dim", "keepdim"), layouts, half="native"
        )
    else:
        tables.add("mul", arithmetic.mul_or_scale, ("self", "other"), layouts, result)
    layout = products.result_layout(layouts[0], layouts[-1])
    for op in MATRICES:
        if op != "mv":
            tables.add(op, products.matmul, ("self", SECOND[op]), layouts, layout)


# --- kernels over tensors, the same for every library --------------------------------------------------------------


def over_tensors(device: str) -> list[KernelTable]:
    """Return the tables of kernels that are written in other operators."""
    tables = []
    for layout in LAYOUTS:
        alone, mixed = KernelTable(device, layout), KernelTable(device, (layout, "strided"))
        for op, (function, takes) in {**kernels_of_one(), **kernels_of_reductions()}.items():
            alone.kernel(op, function, takes=takes, tensors=True)
        for op, (function, takes) in kernels_of_two().items():
            mixed.kernel(op, function, takes=takes, tensors=True)
            if op != "mul":
                alone.kernel(op, function, takes=takes, tensors=True)
        mixed.kernel("mul", _multiply_, takes=("self", "other"), form="inplace", tensors=True)
        mixed.kernel("sparse::with_values", _with_values, takes=("self", "values"), tensors=True)
        tables += [alone, mixed]
    return tables


def _multiply_(self: Tensor, other: Tensor) -> None:
    product = with_dense(self, other)
    ops.copy_(self, ops.sparse.to_dense(product) if self.layout.name == "strided" else product)


def _with_values(self: Tensor, values: Tensor) -> Tensor:
    return as_tensor_of(handle_of(self).with_values(handle_of(values)), values.device)
