"""CuPy and cupyx.scipy.sparse for the kernels of sparse tensors on CUDA.

Only functions that NumPy and SciPy have too are used, so that the tests run these kernels with those in CuPy's place.
CuPy is imported when a kernel is called for the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from importlib import import_module
from typing import Any

from tt.core.library import REGISTRY, errors, fork_safe_properties
from tt.plugins.sparse.compute.elements import keys
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.cuda.bounds import check_indices
from tt.plugins.sparse.cuda.convert import converted
from tt.plugins.sparse.layouts import Array, CompressedHandle, CooHandle, CsrHandle, Handle, SparseHandle

__all__ = ["CudaLibrary"]

MATRIX_DTYPES = "?fdFD"
"""The characters of the dtypes of cupyx.scipy.sparse."""

ATOMIC_DTYPES = "iIefdFDLQ"
"""The dtypes of CuPy's `add.at`."""


@fork_safe_properties
class CudaLibrary(ArrayLibrary):
    """CuPy's arrays; the handles of the dispatcher hold descriptions of them.

    Parameters
    ----------
    arrays, matrices : str
        The modules.
    """

    device = "cuda"
    has_blocks = False

    def __init__(self, arrays: str = "cupy", matrices: str = "cupyx.scipy.sparse") -> None:
        self._arrays, self._matrices = arrays, matrices

    @cached_property
    def xp(self) -> Any:
        """The functions of arrays."""
        return import_module(self._arrays)

    @cached_property
    def sp(self) -> Any:
        """The sparse matrices."""
        return import_module(self._matrices)

    # --- arrays --------------------------------------------------------------------------------------------------

    def repeat(self, array: Array, counts: Array) -> Any:
        """Return each element repeated by its count: CuPy only accepts counts on the host."""
        if not len(array):
            return array
        ends = self.xp.cumsum(counts)
        return array[self.xp.searchsorted(ends, self.xp.arange(int(ends[-1])), side="right")]

    def add_at(self, target: Array, index: Array | tuple[Array, ...], values: Array) -> None:
        """Add values to the elements that an index names."""
        xp, dtype = self.xp, target.dtype
        if dtype.char in ATOMIC_DTYPES:
            xp.add.at(target, index, values)
        elif dtype.char in "lq":  # sums modulo 2**64 are the same with and without sign
            xp.add.at(target.view(xp.uint64), index, values.astype(dtype, copy=False).view(xp.uint64))
        else:
            wide = target.astype(xp.int32 if dtype.kind in "iub" else xp.float32)
            xp.add.at(wide, index, values.astype(wide.dtype))
            target[...] = wide != 0 if dtype.kind == "b" else wide.astype(dtype)

    def reduce_runs(self, how: str, values: Array, starts: Array) -> Any:
        """Reduce runs of values along the first dimension: neighbours by pairs, until one of each run is left.

        CuPy has no `reduceat`, and its `at` serves few dtypes and adds in no certain order.
        """
        xp, combine = self.xp, getattr(self.xp, how)
        lengths = xp.diff(xp.concatenate([starts, xp.asarray([len(values)])]))
        # A logarithmic number of rounds, each on all runs at once.
        for _ in range((int(lengths.max()) - 1).bit_length() if len(starts) else 0):
            run = self.repeat(xp.arange(len(starts)), lengths)
            position = xp.arange(len(values)) - starts[run]
            left = xp.flatnonzero(position % 2 == 0)
            pairs = xp.flatnonzero(position[left] + 1 < lengths[run[left]])
            combined = values[left]
            combined[pairs] = combine(combined[pairs], values[left[pairs] + 1])
            values, lengths = combined, (lengths + 1) // 2
            starts = xp.cumsum(lengths) - lengths
        return values

    # --- layouts -------------------------------------------------------------------------------------------------

    def coalesce(self, handle: CooHandle) -> CooHandle:
        """Return the same tensor with unique coordinates in row-major order."""
        if handle.coalesced:
            return handle
        result: CooHandle = converted(self, handle, "sparse_coo", None, None)
        return result

    def convert(self, handle: Handle, layout: str, blocksize: Sequence[int] | None = None) -> Any:
        """Return a sparse tensor in another sparse layout."""
        return converted(self, handle, layout, blocksize, None)

    def matrix(self, handle: Any) -> Any:
        """Return a single CSR or CSC matrix as the library's; cupyx has no blocks, and indices of 32 bits."""
        if handle.blocked:
            handle = self.convert(handle, "sparse_csr")
        kind = self.sp.csr_matrix if handle.rows else self.sp.csc_matrix
        starts, columns = (part.astype(self.xp.int32) for part in (handle.compressed, handle.plain))
        return kind((handle.values, columns, starts), shape=handle.shape)

    # --- products ------------------------------------------------------------------------------------------------

    def times(self, handle: CompressedHandle, dense: Array, transposed: bool = False) -> Any:
        """Multiply a single matrix, or its transpose, by a dense vector or matrix."""
        if handle.dtype.char in MATRIX_DTYPES[1:]:
            matrix = self.matrix(handle)
            return self.xp.ascontiguousarray((matrix.T.tocsr() if transposed else matrix) @ dense)
        if handle.layout != "sparse_csr":
            handle = self.convert(handle, "sparse_csr")
        row = keys(self, handle) // max(handle.shape[1], 1)
        one, other = (handle.plain, row) if transposed else (row, handle.plain)
        factors = handle.values.reshape(-1, *(1,) * (dense.ndim - 1))
        result = self.xp.zeros((handle.shape[1 if transposed else 0], *dense.shape[1:]), dense.dtype)
        self.add_at(result, one, factors * dense[other])
        return result

    def multiply(self, first: CsrHandle, second: CsrHandle) -> CsrHandle:
        """Multiply two single CSR matrices; the dtypes that cupyx lacks are computed in float64."""
        if first.dtype.char in MATRIX_DTYPES[1:]:
            return super().multiply(first, second)
        double = self.xp.float64
        product = super().multiply(*(h.with_values(h.values.astype(double)) for h in (first, second)))
        return product.with_values(product.values.astype(first.dtype))

    def solve(self, matrix: Any, right: Array) -> Any:
        """Solve a system of equations."""
        solver = import_module(f"{self._matrices}.linalg")
        if right.ndim == 1:
            return solver.spsolve(matrix.tocsr(), right)
        # cupyx solves for one right-hand side at a time.
        columns = [solver.spsolve(matrix.tocsr(), right[:, i].copy()) for i in range(right.shape[1])]
        return self.xp.stack(columns, axis=1)

    # --- tensors -------------------------------------------------------------------------------------------------

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel over the handles of the device."""

        @wraps(function)
        def kernel(*args: Any) -> Any:
            return self.leave(function(self, *map(self.enter, args)))

        return kernel

    def enter(self, value: Any) -> Any:
        """Return a handle with CuPy's arrays in it, whose indices are in range."""
        if isinstance(value, SparseHandle):
            handle = _with_parts(value, [part.array for part in value.components.values()])
            check_indices(handle)
            return handle
        return getattr(value, "array", value)

    def leave(self, value: Any) -> Any:
        """Return a result with the device's handles in it."""
        backend = REGISTRY.backend(self.device)
        if isinstance(value, SparseHandle):
            return _with_parts(value, [backend.normalise(part) for part in value.components.values()])
        if isinstance(value, tuple):
            return tuple(map(self.leave, value))
        return backend.normalise(value) if hasattr(value, "dtype") else value


def _with_parts(handle: Any, parts: Sequence[Any]) -> Any:
    """Return a handle over other arrays."""
    if isinstance(handle, CooHandle):
        return CooHandle(parts[0], parts[1], handle.shape, handle.coalesced, handle.known)
    if len(parts) != 3:
        raise errors.LayoutError(
            f"a tensor of the layout tt.{handle.layout} does not consist of three arrays"
        )
    return type(handle)(*parts, handle.shape, handle.known)
