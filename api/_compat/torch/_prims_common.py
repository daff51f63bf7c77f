"""torch._prims_common: questions about dtypes and strides."""

from __future__ import annotations

from typing import Any

import tt

__all__ = [
    "is_boolean_dtype",
    "is_complex_dtype",
    "is_contiguous",
    "is_contiguous_or_false",
    "is_float_dtype",
    "is_integer_dtype",
]  # fmt: skip


def is_contiguous(a: tt.Tensor) -> bool:
    """Return whether the elements of a tensor lie in memory in their order."""
    return bool(a.is_contiguous())


is_contiguous_or_false = is_contiguous


def is_boolean_dtype(dtype: tt.dtype) -> bool:
    """Return whether a dtype is bool."""
    return dtype is tt.bool


def is_integer_dtype(dtype: tt.dtype) -> bool:
    """Return whether a dtype is one of integers, bool apart."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is tt.bool)


def is_float_dtype(dtype: tt.dtype) -> bool:
    """Return whether a dtype is one of real floating-point numbers."""
    return bool(dtype.is_floating_point)


def is_complex_dtype(dtype: tt.dtype) -> bool:
    """Return whether a dtype is one of complex numbers."""
    return bool(dtype.is_complex)


def alert_not_deterministic(caller: str) -> None:
    """Raise or warn as `torch.use_deterministic_algorithms` demands."""
    if tt.are_deterministic_algorithms_enabled():
        from tt.errors import NondeterministicError
        from tt.library import warn_user

        error = NondeterministicError(caller)
        if not tt.is_deterministic_algorithms_warn_only_enabled():
            raise error
        warn_user(str(error))


def corresponding_real_dtype(dtype: tt.dtype) -> Any:
    """Return the dtype of the parts of complex numbers."""
    return dtype.to_real()
