"""Plans of launches for kernels over lines of strided elements, made once for each layout that occurs.

Note [Walks of reductions]
--------------------------
Kept and combined dimensions are reduced to at most two each; a tensor for which that fails is copied
first.  A plan then chooses one of three kernels: a group of lanes for a short line, a block for a long one (split
into parts if there are fewer lines than the GPU has room for), or, where neighbours in memory belong to different
lines, 32 columns side by side.  Plans depend on nothing but the layout, so results do not depend on the GPU or on
timing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import joined, packed
from tt.core.library import contiguous_strides

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.launch.programs import Program

__all__ = [
    "FLOATING",
    "INTEGRAL",
    "Tuning",
    "Walker",
    "aligned",
    "axes",
    "collapsed",
    "elementwise",
    "index_type",
    "line_width",
    "only",
    "wide",
    "workspace",
]

FLOATING: Final = ("float16", "bfloat16", "float32", "float64")
INTEGRAL: Final = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32")

_ACCUMULATOR: Final = 32
"""The most bytes that an accumulator has."""

_SHORT: Final = 512
"""Up to this length some lanes serve a line, beyond it a block."""

_MANY: Final = 8
"""So many times the blocks of a launch, lines are enough for a warp each up to a length of 8 times _SHORT."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The parts of a launch.

    Attributes
    ----------
    threads : int
        In a block, a multiple of 32.
    blocks : int
        How many keep the GPU busy: 8 for each of 132 multiprocessors.  A constant: what depended on the GPU at hand
        would give sums that differ from one GPU to the next.
    """

    threads: int = 256
    blocks: int = 1056


# --- facts about handles ----------------------------------------------------------------------------------


@cache
def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which elements are computed: float32 for the half dtypes."""
    return np.dtype(np.float32) if dtype.name in ("float16", "bfloat16") else dtype


def aligned(*handles: StridedHandle) -> bool:
    """Return whether 16 bytes can be loaded at once from the first elements on."""
    return all(handle.data_ptr % 16 == 0 for handle in handles)


def workspace(backend: CudaBackend, nbytes: int) -> StridedHandle:
    """Return memory for what kernels leave to each other."""
    return backend.empty(((nbytes + 7) // 8,), np.dtype(np.float64))


def index_type(count: int) -> str:
    """Return the type in which places are divided: 64 bits cost several times more."""
    return "int32" if count < 2**31 else "int64"


def elementwise(count: int, tuning: Tuning) -> int:
    """Return the number of blocks for a kernel that goes over elements."""
    return max(1, min(-(-count // tuning.threads), 32 * tuning.blocks))


def axes(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the dimensions to reduce, counted from the front; None and an empty list mean all.

    Raises
    ------
    IndexError
        For dimensions that are not there or repeated; the shape rule explains it to the user.
    """
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    wrapped = []
    for dim in (dims,) if isinstance(dims, int) else dims:
        limit = ndim or 1
        if not -limit <= dim < limit:
            raise IndexError(f"dimension {dim} of {ndim}")
        wrapped.append(dim % limit)
    if len(set(wrapped)) < len(wrapped):
        raise IndexError(f"a dimension is repeated in {dims}")
    return tuple(wrapped) if ndim else ()


def collapsed(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sizes and strides with neighbouring dimensions joined that are one after the other in memory.

    Examples
    --------
    >>> from tt.backends.cuda.launch.reduction_launch import collapsed
    >>> collapsed([(2, 12), (3, 4), (4, 1)]), collapsed([(2, 24), (3, 4), (4, 1)])
    ([(24, 1)], [(2, 24), (12, 1)])
    """
    sizes, (strides,) = joined([size for size, _ in dims], [[stride for _, stride in dims]])
    return list(zip(sizes, strides, strict=True))


# --- plans -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReductionPlan:
    """The launch of a reduction.

    Attributes
    ----------
    kernel : str
        The kernel and its arguments, in which `{}` is the operation.
    grid : int
        The blocks; 0 without results.
    walk : bytes
        The struct Walk of walks.cuh.
    parts : int
        Into how many parts lines are cut.
    lines, count : int
        How many results there are, and of how many elements each.
    shape : tuple of int
        Of the results.
    """

    kernel: str
    grid: int
    walk: bytes
    parts: int
    lines: int
    count: int
    shape: tuple[int, ...]


@lru_cache(maxsize=8192)
def _plan(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: tuple[int, ...],
    keepdim: bool,
    lanes: int,
    ordered: bool,
    tuning: Tuning,
) -> ReductionPlan | None:
    """Return the plan of a reduction, or None for a layout that has to be copied.

    Parameters
    ----------
    shape, strides : tuple of int
        Of the input; strides in elements.
    dims : tuple of int
        The dimensions to reduce.
    keepdim : bool
        Whether they stay, with size 1.
    lanes : int
        How many neighbouring elements can be loaded at once.
    ordered : bool
        Whether the places of elements along the line matter; if not, dimensions are taken as they are in memory.
    tuning : Tuning
        The size of blocks.
    """
    gone = set(dims)
    result = tuple(1 if d in gone else size for d, size in enumerate(shape) if keepdim or d not in gone)
    kept = [(shape[d], strides[d]) for d in range(len(shape)) if d not in gone]
    reduced = [(shape[d], strides[d]) for d in range(len(shape)) if d in gone]
    lines, count = prod(size for size, _ in kept), prod(size for size, _ in reduced)
    # Lines without elements still need a launch, which writes what the operation gives for none.
    if not lines or not count:
        walk = (lines, lines, 0, 0, 0, 0, 0, 0, 1)
        grid = min(-(-lines // tuning.threads), 2**31 - 1)
        return ReductionPlan(
            f"reduce_groups<{{}}, 1, 1, int32, {tuning.threads}>",
            grid,
            packed(*walk),
            1,
            lines,
            count,
            result,
        )
    # Where places do not matter, the dimensions are taken by falling strides, so that more of them can be joined.
    if not ordered:
        reduced.sort(key=lambda dim: -abs(dim[1]))
    outer, inner = collapsed(kept), collapsed(reduced)
    if len(outer) > 2 or len(inner) > 2:
        return None
    # Kernels take exactly two dimensions; missing ones have one element.
    line_outer, line_inner = ((1, 0), (1, 0), *outer)[-2:]
    across_outer, across_inner = ((1, 0), (1, 0), *inner)[-2:]
    index = index_type(max(lines, count))
    # Where neighbouring lines are closer than the elements of one, threads side by side take lines side by side.
    if line_inner[0] >= 16 and abs(line_inner[1]) < abs(across_inner[1]):
        name, tasks, parts = _columns(line_outer[0], line_inner[0], count, index, tuning)
    else:
        steps = (line_outer[1], line_inner[1], across_outer[1])
        # Wide loads need neighbours in memory, and rows that all begin at a multiple of the load.
        whole = across_outer[0] == 1 or across_inner[0] % lanes == 0
        vectors = across_inner[1] == 1 and whole and all(step % lanes == 0 for step in steps)
        name, tasks, parts = _rows(lines, count, lanes if vectors else 1, index, tuning)
    walk = (lines, line_inner[0], line_outer[1], line_inner[1],
            count, across_inner[0], across_outer[1], across_inner[1], parts)  # fmt: skip
    return ReductionPlan(name, min(tasks, 2**31 - 1), packed(*walk), parts, lines, count, result)


def _rows(lines: int, count: int, lanes: int, index: str, tuning: Tuning) -> tuple[str, int, int]:
    """Return the kernel, the blocks and the parts for lines whose elements are neighbours, or no worse than that."""
    threads = tuning.threads
    if count <= _SHORT or (count <= 8 * _SHORT and lines >= _MANY * tuning.blocks):
        lanes = lanes if count % lanes == 0 else 1
        # The fewer elements a line has, the fewer lanes share it, so that none is idle.
        group = 1 if count <= 4 * lanes else 8 if count <= 64 * lanes else 32
        name = f"reduce_groups<{{}}, {group}, {lanes}, {index}, {threads}>"
        return name, -(-lines * group // threads), 1
    # As many parts as fill the GPU, but each thread gets at least four loads.
    parts = max(1, min(tuning.blocks // lines, -(-count // (threads * lanes * 4))))
    return f"reduce_rows<{{}}, {lanes}, {index}, {threads}>", lines * parts, parts


def _columns(outer: int, inner: int, count: int, index: str, tuning: Tuning) -> tuple[str, int, int]:
    """Return the same for lines whose neighbours belong to other lines."""
    rows, tiles = tuning.threads // 32, outer * -(-inner // 32)
    parts = min(tuning.blocks // tiles, -(-count // (rows * 16)))
    # One after the other a thread adds at most some hundred elements, which keeps digits.
    parts = max(1, parts, count // (rows * 512))
    return f"reduce_columns<{{}}, {index}, {tuning.threads}>", tiles * parts, parts


def only(results: tuple[StridedHandle | None, ...]) -> StridedHandle:
    """Return the first result of a reduction, whose dtype was given."""
    result = results[0]
    assert result is not None
    return result


class Walker:
    """Launches the reductions of a program.

    Parameters
    ----------
    backend : CudaBackend
        Where handles come from and kernels run.
    program : Program
        Has the operations.
    tuning : Tuning
        The size of blocks.
    """

    def __init__(self, backend: CudaBackend, program: Program, tuning: Tuning) -> None:
        self.backend, self.program, self.tuning = backend, program, tuning

    def reduce(
        self,
        operation: str,
        inputs: Sequence[StridedHandle],
        dims: tuple[int, ...],
        keepdim: bool,
        results: Sequence[np.dtype[Any] | None],
        *,
        extra: StridedHandle | None = None,
        fact: float = 0.0,
        ordered: bool = False,
    ) -> tuple[StridedHandle | None, ...]:
        """Return what an operation makes of the lines of one input, or of two of one layout.

        Parameters
        ----------
        operation : str
            Its name in CUDA C++.
        inputs : sequence of StridedHandle
            The elements.
        dims, keepdim
            The dimensions to reduce, and whether they stay.
        results : sequence
            The dtypes of the two results, None for one that is not wanted.
        extra : StridedHandle, optional
            The arguments of the operation for each line.
        fact : float
            The arguments for all lines.
        ordered : bool
            Whether it needs the indices of elements.
        """
        backend, first = self.backend, inputs[0]
        plan = self._planned(inputs, dims, keepdim, ordered)
        if plan is None:
            # With the reduced dimensions last in a copy, each side joins to one dimension, so the second
            # try has a plan.
            shape = tuple(
                1 if d in dims else n for d, n in enumerate(first.shape) if keepdim or d not in dims
            )
            copies = [_with_last(backend, value, dims) for value in inputs]
            last = tuple(range(first.ndim - len(dims), first.ndim))
            reduced = self.reduce(
                operation, copies, last, False, results, extra=extra, fact=fact, ordered=ordered
            )
            return tuple(None if f is None else f.view(shape, contiguous_strides(shape)) for f in reduced)
        outputs = [None if dtype is None else backend.empty(plan.shape, dtype) for dtype in results]
        if plan.lines:
            second = inputs[1] if len(inputs) > 1 else None
            partial = workspace(backend, plan.lines * plan.parts * _ACCUMULATOR) if plan.parts > 1 else None
            block = (self.tuning.threads,)
            kernel = self.program.kernel(plan.kernel.format(operation))
            kernel(backend, (plan.grid,), block, (first, second, extra, *outputs, partial, fact, plan.walk))
            if partial is not None:
                kernel = self.program.kernel(f"reduce_parts<{operation}, {self.tuning.threads}>")
                # A warp combines the parts of a line.
                grid = min(-(-plan.lines * 32 // self.tuning.threads), 2**31 - 1)
                kernel(backend, (grid,), block, (partial, extra, *outputs, fact, plan.walk))
        return tuple(outputs)

    def _planned(
        self, inputs: Sequence[StridedHandle], dims: tuple[int, ...], keepdim: bool, ordered: bool
    ) -> ReductionPlan | None:
        first = inputs[0]
        lanes = max(1, 16 // first.dtype.itemsize) if aligned(*inputs) else 1
        return _plan(first.shape, first.strides, dims, keepdim, lanes, ordered, self.tuning)


def _with_last(backend: CudaBackend, handle: StridedHandle, dims: tuple[int, ...]) -> StridedHandle:
    """Return a copy in row-major order in which some dimensions are the last."""
    order = [d for d in range(handle.ndim) if d not in dims] + sorted(dims)
    return backend.clone(handle.view([handle.shape[d] for d in order], [handle.strides[d] for d in order]))


def line_width(count: int, lanes: int, tuning: Tuning) -> tuple[int, int, int]:
    """Return how many threads serve a line, what each keeps of it in registers, and how many lines a block serves.

    As long as a thread has no more than 32 elements of it, a line stays in the registers of a warp, or else of a block.
    A longer one is read again by its block, which the caches serve.

    Examples
    --------
    >>> from tt.backends.cuda.launch.reduction_launch import Tuning, line_width
    >>> line_width(100, 4, Tuning()), line_width(5000, 4, Tuning())
    ((32, 1, 8), (256, 8, 1))
    """
    for width in (32, tuning.threads):
        # Powers of two, so that few variants are compiled.
        packs = 1
        while packs * width * lanes < count:
            packs *= 2
        if packs * lanes <= 32:
            return width, packs, tuning.threads // width
    return tuning.threads, 0, 1
