"""Combining the tensors of all ranks, for reductions and dtypes that an engine does not combine itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

import tt
from tt import Tensor
from tt.distributed.reduce_op import ReduceOp

__all__ = ["UFUNCS", "Prepared", "check_reduction", "combine", "supports_complex"]

_Kind = ReduceOp.RedOpType
UFUNCS: Final[dict[_Kind, np.ufunc]] = {
    _Kind.SUM: np.add,
    _Kind.PRODUCT: np.multiply,
    _Kind.MIN: np.minimum,
    _Kind.MAX: np.maximum,
    _Kind.BAND: np.bitwise_and,
    _Kind.BOR: np.bitwise_or,
    _Kind.BXOR: np.bitwise_xor,
}
"""NumPy's function of each reduction, for arrays of dtypes that need no preparation."""
_SUM: Final = ReduceOp(_Kind.SUM)
_BITWISE: Final = {_Kind.BAND: tt.bitwise_and, _Kind.BOR: tt.bitwise_or, _Kind.BXOR: tt.bitwise_xor}
_HALF: Final = (tt.float16, tt.bfloat16)
_ONLY_REAL: Final = (_Kind.PRODUCT, _Kind.MIN, _Kind.MAX, *_BITWISE)
_FLOAT8: Final = (tt.float8_e4m3fn, tt.float8_e4m3fnuz, tt.float8_e5m2, tt.float8_e5m2fnuz, tt.float8_e8m0fnu)


def supports_complex(reduce_op: ReduceOp | ReduceOp.RedOpType) -> bool:
    """Return whether complex tensors can be combined by an operation.

    Parameters
    ----------
    reduce_op : ReduceOp
        The operation.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return ReduceOp(reduce_op).kind not in _ONLY_REAL


def check_reduction(op: ReduceOp | ReduceOp.RedOpType, tensor: Tensor, name: str) -> ReduceOp:
    """Return a reduction as a ReduceOp; raise where the tensor's dtype has no such reduction."""
    if op is _Kind.SUM and tensor.dtype is tt.float32:
        return _SUM  # most calls
    reduction = ReduceOp(op)
    kind, dtype = reduction.kind, tensor.dtype
    if dtype in _FLOAT8:
        raise RuntimeError(f"{name}: {dtype} cannot be combined; convert it to float16, bfloat16 or float32")
    if dtype.is_complex and kind in _ONLY_REAL:
        raise ValueError(f"{name} does not support ReduceOp.{kind.name} on complex tensors")
    if kind in _BITWISE and (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"{name}: cannot use ReduceOp.{kind.name} with {dtype}; it is for integers and bool"
        )
    if kind in (_Kind.AVG, _Kind.PREMUL_SUM) and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"{name}: cannot use ReduceOp.{kind.name} with {dtype}; it is for floating point and complex"
        )
    if kind is _Kind.PREMUL_SUM and reduction.factor is None:
        raise ValueError(f"{name}: ReduceOp.PREMUL_SUM needs a factor: ReduceOp.PREMUL_SUM(0.5)")
    return reduction


def combine(parts: Tensor, kind: ReduceOp.RedOpType) -> Tensor:
    """Combine the rows of a tensor, in their order; the dtype stays.  Not for ``AVG`` and ``PREMUL_SUM``."""
    if kind is _Kind.SUM:
        # Without it small integers would become int64.
        return parts.sum(0, dtype=parts.dtype)
    if kind is _Kind.PRODUCT:
        return parts.prod(0, dtype=parts.dtype)
    if kind is _Kind.MIN:
        return parts.amin(0)
    if kind is _Kind.MAX:
        return parts.amax(0)
    function: Callable[[Tensor, Tensor], Tensor] = _BITWISE[kind]
    result = parts[0]
    for row in parts[1:]:
        result = function(result, row)
    return result


class Prepared:
    """A tensor and a reduction in the form in which an engine, or `combine`, takes them.

    bool is combined as uint8, complex as its two parts, float16 and bfloat16, also as parts, as float32 (unless the
    engine combines them itself), a factor is multiplied in before and an average divided after.

    Parameters
    ----------
    tensor : Tensor
        A rank's tensor, contiguous.  It is not changed.
    op : ReduceOp
        A reduction that `check_reduction` has let pass.
    size : int
        The number of ranks.
    dtypes, reductions : frozenset of str
        The engine's operand.

    Attributes
    ----------
    tensor : Tensor
        What to combine; it may share the memory of the rank's tensor.
    op : ReduceOp
        How to combine it.
    native : bool
        Whether the engine can do it.
    plain : bool
        Whether it is the rank's own tensor, and the combined one needs no more work.
    """

    def __init__(
        self, tensor: Tensor, op: ReduceOp, size: int, dtypes: frozenset[str], reductions: frozenset[str]
    ) -> None:
        self._dtype = tensor.dtype
        self._divisor = 1
        own = tensor
        kind = op.kind
        if tensor.dtype is tt.bool:
            tensor = tensor.view(tt.uint8)
            # Bytes of 0 and 1: their sum is "or", their product "and".
            kind = {_Kind.SUM: _Kind.MAX, _Kind.PRODUCT: _Kind.MIN}.get(kind, kind)
        elif tensor.dtype.is_complex:
            # Sums and averages of complex numbers are those of their parts, for which engines have
            # dtypes.
            tensor = tt.view_as_real(tensor)
        if tensor.dtype in _HALF and _name(tensor) not in dtypes:
            # Also more exact than adding halves.
            tensor = tensor.to(tt.float32)
        if kind is _Kind.PREMUL_SUM and kind.name not in reductions:
            tensor = tensor * op.factor
            kind = _Kind.SUM
        # An average is a sum that `restored` divides.
        elif kind is _Kind.AVG and kind.name not in reductions:
            self._divisor, kind = size, _Kind.SUM
        self.tensor = tensor
        self.op = op if kind is op.kind else ReduceOp(kind)
        self.plain = tensor is own and self._divisor == 1
        self.native = _name(tensor) in dtypes and kind.name in reductions

    def restored(self, result: Tensor) -> Tensor:
        """Return the combined tensor in the form of the rank's own; the result may be overwritten."""
        if self._divisor != 1:
            result = result.div_(self._divisor)
        if self._dtype is tt.bool:
            return result.view(tt.bool)
        if self._dtype.is_complex:
            return tt.view_as_complex(result).to(self._dtype)
        return result.to(self._dtype)


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).rpartition(".")[2]
