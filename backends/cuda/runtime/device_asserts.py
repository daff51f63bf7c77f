"""Faults that kernels find on the device: where they are noted, and how the host raises them.

See "Indices that are out of range" in docs/design/cuda.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.library import errors

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["KINDS", "POLYNOMIALS", "Failures", "kind_of"]

_FIELDS: Final = 5
"""Words of the record: taken, what, index, dim, size; `Failure` in sources/failures.cuh."""

Message = Callable[[str, int, int, int], Exception]


def _place(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.PlaceError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def _index(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.IndexValueError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def _slice(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.IndexValueError(
        f"{op.lstrip('_')}(): index {index} is out of range for a dimension of size {size}"
    )


def _flat(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.IndexValueError(f"{op}(): index {index} is out of range: the tensor has {size} elements")


def _source(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.ShapeError(
        f"{op}(): the source has {size} elements, fewer than the {index} true elements of the mask"
    )


def _target(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.IndexValueError(f"Target {index} is out of bounds.")


def _label(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.PlaceError(f"{op}(): the target {index} is not one of {size} classes")


def _bag(op: str, index: int, dim: int, size: int) -> Exception:
    if dim == 1:
        return errors.ShapeError(f"{op}(): offsets[0] has to be 0, however, got {index}")
    if dim == 2:
        return errors.ShapeError(
            f"{op}(): offsets[-1] can not be greater than input's length {size} but got {index}"
        )
    if dim == 3:
        return errors.ShapeError(f"{op}(): offsets must not decrease")
    return errors.PlaceError(f"{op}(): index {index} is out of range for {size} rows")


def _degree(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.ValueRangeError(f"{op}(): the degree is {index}, and the highest is {size}")


def _chance(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.ValueRangeError(f"{op}(): all elements of input should be between 0 and 1")


def _probability(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.ValueRangeError("bernoulli: probabilities lie between 0 and 1, and some do not")


def _weight(op: str, index: int, dim: int, size: int) -> Exception:
    if index:
        return errors.ValueRangeError(f"{op}(): the weights of a row are all zero, so nothing can be drawn")
    return errors.ValueRangeError(f"{op}(): a weight is negative, infinite or not a number")


def _divisor(op: str, index: int, dim: int, size: int) -> Exception:
    return errors.DivisionByZeroError("ZeroDivisionError: an integer is divided by zero")


POLYNOMIALS: Final = (
    *(f"special_{which}chebyshev_polynomial_{kind}" for which in ("", "shifted_") for kind in "tuvw"),
    "special_hermite_polynomial_h", "special_hermite_polynomial_he", "special_laguerre_polynomial_l",
    "special_legendre_polynomial_p",
)  # fmt: skip
"""Operators whose degree has a limit."""

KINDS: Final[Mapping[str, Message]] = {
    "gather": _place, "scatter": _place, "scatter_add": _place, "scatter_reduce": _place, "index": _index,
    "index_put": _index, "index_select": _slice, "_embedding": _slice, "embedding_dense_backward": _slice,
    "index_add": _slice, "index_copy": _index, "index_fill": _index, "take": _flat, "put": _flat,
    "masked_scatter": _source, "bernoulli": _probability, "nll_loss": _target, "binary_cross_entropy": _chance,
    "div": _divisor, "multinomial": _weight, "_weighted_taps": _slice, "_spread_taps": _slice,
    "ctc_loss": _label, "embedding_bag": _bag, "_multi_margin": _place, "_multilabel_margin": _place,
    **dict.fromkeys(POLYNOMIALS, _degree),
}  # fmt: skip
"""The faults on the device, by operator; the position in this mapping is the number used there."""

_NUMBERS: Final = {name: number for number, name in enumerate(KINDS)}


def kind_of(op: str) -> int:
    """Return the number by which kernels note a fault of an operator."""
    return _NUMBERS[op]


class Failures:
    """The record of the first fault that kernels of a backend found.

    Parameters
    ----------
    backend : CudaBackend
        Whose library allocates memory of the host that the devices reach.

    Attributes
    ----------
    blocking : bool
        Whether each call waits for its own faults; CUDA reads the same variable of the environment.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self.blocking = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
        self._words: np.ndarray[Any, Any] | None = None
        self._memory: Any = None
        self._address = 0

    @property
    def address(self) -> int:
        """The record in which kernels note a fault; allocated at first use."""
        if self._words is None:
            self._allocate()
        return self._address

    def _allocate(self) -> None:
        # Memory that CUDA has pinned is reached by every device at the same address.  Kernels write there once a fault
        # occurs and never otherwise, so a check costs the host one look at its own memory.
        pinned = getattr(getattr(self._backend.library(), "cuda", None), "alloc_pinned_memory", None)
        if pinned is None:
            self._memory = words = np.zeros(_FIELDS, np.int64)
        else:
            self._memory = pinned(8 * _FIELDS)
            words = np.frombuffer(self._memory, np.int64, _FIELDS)
            words[:] = 0
        self._address = int(words.ctypes.data)
        self._words = words

    def launched(self) -> None:
        """Register the launch of a kernel that may record a fault; raise at once if it has already run."""
        if self._backend.engine.synchronous:
            self.raise_first(at_once=True)
        elif self.blocking:
            self._backend.synchronize()

    def raise_first(self, at_once: bool = False) -> None:
        """Raise the fault that was noted, if one was; the host has waited for the device before.

        Raises
        ------
        IndexValueError, ShapeError, ValueRangeError, DivisionByZeroError
            The error that the operator raises on other devices.
        """
        words = self._words
        if words is None or not words[0]:
            return
        what, index, dim, size = (int(word) for word in words[1:])
        # Reset before raising: the next call starts without a fault.
        words[:] = 0
        op = list(KINDS)[what]
        error = KINDS[op](op, index, dim, size)
        if not at_once:
            error.add_note(
                f"{op}() found this on the device after it had returned; the call may be far above.  With the "
                "environment variable CUDA_LAUNCH_BLOCKING=1 the call itself raises."
            )
        raise error
