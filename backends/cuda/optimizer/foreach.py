"""Arithmetic and norms over lists of tensors: one launch for all tensors of a dtype.

Lists that a launch cannot take as they are (few tensors, other dtypes, broadcasting, gaps, several devices, memory that
targets share) go through the composite, tensor by tensor.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.launch.layouts import name_of
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.launch.reduction_launch import FLOATING, workspace
from tt.backends.cuda.optimizer.steps import (
    BLOCK,
    CHUNK,
    NUMBER_KINDS,
    Handles,
    Stepper,
    dense_count,
    number_at,
)
from tt.core.library import REGISTRY, KernelTable, TensorBase, handle_of, ops

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["FOREACH", "FUNCTORS", "Lists", "apart", "kernel_names", "tables"]

FOREACH: Final = Program("foreach.cuh")

_UNARY: Final = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip
_BINARY: Final = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Maximum", "minimum": "Minimum",
    "clamp_min": "Maximum", "clamp_max": "Minimum",
}  # fmt: skip

FUNCTORS: Final[dict[str, tuple[str, tuple[str, ...], str | None]]] = {
    **{f"_foreach_{name}": (name.capitalize(), ("self",), None) for name in _UNARY},
    **{
        f"_foreach_{name}.Scalar": (f"{functor}Number", ("self",), "scalar")
        for name, functor in _BINARY.items()
    },
    **{
        f"_foreach_{name}.List": (functor, ("self", "other"), "alpha" if name in ("add", "sub") else None)
        for name, functor in _BINARY.items()
    },
    "_foreach_mul.Tensor": ("MulNumber", ("self",), "other"),
    "_foreach_div.Tensor": ("DivNumber", ("self",), "other"),
    "_foreach_addcmul.Scalar": ("AddCMul", ("self", "tensor1", "tensor2"), "value"),
    "_foreach_addcdiv.Scalar": ("AddCDiv", ("self", "tensor1", "tensor2"), "value"),
    "_foreach_lerp.Scalar": ("Lerp", ("self", "tensors1"), "weight"),
}
"""The functor of an operator, its lists, and its number."""

_NORMS: Final = {1.0: "Norm1", 2.0: "Norm2", math.inf: "LargestSize"}
_MANY: Final = 4
"""For fewer tensors, uploading the tables takes longer than launches."""
_OPTIONS: Final = struct.Struct("@dQqq")


def kernel_names(dtype: str) -> list[str]:
    """Return the names of all kernels for a dtype."""
    names = [f"each_tensor<{dtype}, each::{functor}>" for functor, _, _ in FUNCTORS.values()]
    return [*dict.fromkeys(names)] + [
        f"norm_{part}<reduction::{norm}<{dtype}>, {BLOCK}>"
        for norm in _NORMS.values()
        for part in ("parts", "wholes")
    ]


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, lists = KernelTable(device="cuda"), Lists(backend)
    for op, (functor, names, number) in FUNCTORS.items():
        takes = names if number is None else (*names, number)
        name, dot, overload = op.partition(".")
        for form, target in ((functional, op), (inplace, f"{name}_{dot}{overload}")):
            function = partial(form, lists, target, functor, len(names))
            table.kernel(target, function, dtypes=FLOATING, takes=takes, priority=1, tensors=True)
    norm = partial(norms, lists)
    table.kernel(
        "_foreach_norm.Scalar",
        norm,
        dtypes=FLOATING,
        takes=("self", "ord", "dtype"),
        priority=1,
        tensors=True,
    )
    return [table]


class Lists:
    """Launches kernels over lists of handles without gaps.

    Parameters
    ----------
    backend : CudaBackend
        Whose engine launches.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        # Its own tables: those of results are new in each call, and would displace those of optimizers.
        self._stepper = Stepper(Mover(backend), FOREACH)

    def each(self, functor: str, out: Handles, lists: Sequence[Handles], number: Any) -> None:
        """Write a functor's results for the elements of lists, which have the strides of the results.

        The number may be a handle; the kernel reads it.
        """
        kernel = f"each_tensor<{{}}, each::{functor}>"
        plain = 0.0 if isinstance(number, StridedHandle) else float(number)
        self._stepper.launch(kernel, [out, *lists], (), _OPTIONS.pack(plain, *number_at(number), CHUNK))

    def norms(self, order: float, out: Handles, arrays: Handles) -> None:
        """Write the norms of arrays, none of which is empty: two launches for each dtype."""
        by_dtype: dict[str, list[tuple[StridedHandle, ...]]] = {}
        for pair in zip(out, arrays, strict=True):
            by_dtype.setdefault(name_of(pair[1].dtype), []).append(pair)
        options = _OPTIONS.pack(0.0, 0, 0, CHUNK)
        for name, members in by_dtype.items():
            operation = f"reduction::{_NORMS[order]}<{name}>, {BLOCK}"
            counts = [prod(array.shape) for _, array in members]
            tensors, chunks, count = self._stepper.table(members, [None] * len(members), counts)
            parts = workspace(self.backend, count * 16)
            launch = (FOREACH.kernel(f"norm_{part}<{operation}>") for part in ("parts", "wholes"))
            next(launch)(self.backend, (count,), (BLOCK,), (tensors, chunks, parts, options))
            next(launch)(self.backend, (len(members),), (BLOCK,), (tensors, chunks, parts, count, options))


# --- over tensors ----------------------------------------------------------------------------------------------


def _handles(lists: Sequence[Sequence[TensorBase]]) -> list[list[StridedHandle]] | None:
    """Return the handles of lists that one launch can take, or None."""
    first = lists[0]
    if len(first) < _MANY or any(len(tensors) != len(first) for tensors in lists):
        return None
    device = first[0].device
    handle_lists: list[list[StridedHandle]] = [[] for _ in lists]
    for tensors in zip(*lists, strict=True):
        one = tensors[0]
        for tensor, handles in zip(tensors, handle_lists, strict=True):
            if tensor.dtype is not one.dtype or tensor.device != device or tensor.shape != one.shape:
                return None
            handles.append(handle_of(tensor))
            # All are walked as one piece of memory, so elements that belong together need one order.
            if handles[-1].strides != handle_lists[0][-1].strides:
                return None
        handle = handle_lists[0][-1]
        if name_of(handle.dtype) not in FLOATING:
            return None
        if 0 not in handle.shape and not dense_count(handle.shape, handle.strides):
            return None
    return handle_lists


def apart(targets: Handles, lists: Sequence[Handles]) -> bool:
    """Return whether each target shares memory with nothing but itself among other targets and arrays."""
    # Sorted by address, neighbours alone can overlap: n log n comparisons instead of a square.
    spans = sorted((h.data_ptr, h.data_ptr + h.nbytes) for h in targets if h.nbytes)
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        return False
    starts = [start for start, _ in spans]
    for arrays in lists:
        for target, array in zip(targets, arrays, strict=True):
            start = array.data_ptr
            if start == target.data_ptr or not array.nbytes:
                continue
            before = bisect_left(starts, start + array.nbytes) - 1  # the last that starts before its end
            if before >= 0 and spans[before][1] > start:
                return False
    return True


def _composed(op: str, args: tuple[Any, ...]) -> Any:
    composite = REGISTRY.composite(op)
    assert composite is not None  # the core has one
    return composite.function(*args)


def _number(number: Any, device: Any) -> Any:
    """Return a number, or a handle of one on the device; None for others."""
    if isinstance(number, complex | bool):  # which some operators refuse
        return None
    if not isinstance(number, TensorBase):
        return number
    if number.ndim or number.device != device:
        return None
    handle = handle_of(number)
    return handle if name_of(handle.dtype) in NUMBER_KINDS else None


def functional(lists: Lists, op: str, functor: str, count: int, *args: Any) -> Any:
    """Return new tensors."""
    handles = _handles(args[:count])
    number = _number(args[count], args[0][0].device) if handles and len(args) > count else 0.0
    if handles is None or number is None:
        return _composed(op, args)
    first = args[0]
    with lists.backend.on(first[0].device.index or 0):
        results = [ops.empty_like(tensor) for tensor in first]
        lists.each(functor, [handle_of(tensor) for tensor in results], handles, number)
    return results


def inplace(lists: Lists, op: str, functor: str, count: int, *args: Any) -> None:
    """Change the tensors of the first list."""
    handles = _handles(args[:count])
    number = _number(args[count], args[0][0].device) if handles and len(args) > count else 0.0
    # The number might be an element of a target.
    read = [] if not isinstance(number, StridedHandle) else [[number] * len(args[0])]
    if handles is None or number is None or not apart(handles[0], handles[1:] + read):
        _composed(op, args)
        return
    with lists.backend.on(args[0][0].device.index or 0):
        lists.each(functor, handles[0], handles, number)
    # The kernel wrote below the dispatcher, which would have counted the change.
    for tensor in args[0]:
        tensor._bump_version()


def norms(lists: Lists, self: Sequence[TensorBase], ord: Any, dtype: Any) -> Any:
    """Return the norm of each tensor."""
    plain = dtype is None and not isinstance(ord, complex) and float(ord) in _NORMS
    handles = _handles([self]) if plain else None
    if handles is None or any(0 in handle.shape for handle in handles[0]):
        return _composed("_foreach_norm.Scalar", (self, ord, dtype))
    with lists.backend.on(self[0].device.index or 0):
        results = [ops.new_empty(tensor, ()) for tensor in self]
        lists.norms(float(ord), [handle_of(tensor) for tensor in results], handles[0])
    return results
