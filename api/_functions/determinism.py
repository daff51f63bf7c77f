"""Results that are the same bits in every run, and the precision of products: settings of the process."""

from __future__ import annotations

import warnings
from typing import Any, Final

import tt
from tt.core.types.determinism import DETERMINISM
from tt.errors import ArgumentError

__all__ = [
    "are_deterministic_algorithms_enabled",
    "fills_uninitialized_memory",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_fills_uninitialized_memory",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_MODES: Final = ("default", "warn", "error")
_PRECISIONS: Final = ("highest", "high", "medium")


class _Settings:
    """The state of the functions below."""

    filling: Any = None
    precision = "highest"
    filter: Any = None


# --- determinism -------------------------------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Let operators give the same bits in every run, on the same machine with the same input.

    On the CPU they always do.  On CUDA, sums of `index_add`, `scatter_add` and the backward pass of `max_pool` are then
    made in a fixed order; an operator that has no such way raises.  New memory on the CPU is filled: see
    `tt.utils.deterministic.fill_uninitialized_memory`.

    Parameters
    ----------
    mode : bool
        Whether to require it.
    warn_only : bool
        Whether operators without a deterministic algorithm warn and continue.

    Raises
    ------
    NondeterministicError
        Later, by such an operator.

    Examples
    --------
    >>> import tt
    >>> tt.use_deterministic_algorithms(True)
    >>> tt.are_deterministic_algorithms_enabled(), tt.empty(2)
    (True, tensor([nan, nan]))
    >>> tt.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise ArgumentError(
                "use_deterministic_algorithms", f"argument {name!r} is True or False, not {value!r}"
            )
    DETERMINISM.required, DETERMINISM.warn_only = mode, warn_only
    _fill_or_not()


def _fill_or_not() -> None:
    """Register the kernels that fill memory, or take them away."""
    required = DETERMINISM.required and DETERMINISM.fill
    if required and _Settings.filling is None:
        from tt.backends.cpu.uninitialized import install  # with NumPy's kernels

        tt.zeros(0, device="cpu")  # the kernels that are replaced are registered at first use
        _Settings.filling = install()
    elif not required and _Settings.filling is not None:
        _Settings.filling.remove()
        _Settings.filling = None


def fills_uninitialized_memory() -> bool:
    """Return whether `tt.empty` and similar factories fill their memory while deterministic algorithms are required."""
    return DETERMINISM.fill


def set_fills_uninitialized_memory(mode: bool) -> None:
    """Set whether `tt.empty` and similar factories fill their memory while deterministic algorithms are required."""
    if not isinstance(mode, bool):
        raise ArgumentError("fill_uninitialized_memory", f"is True or False, not {mode!r}")
    DETERMINISM.fill = mode
    _fill_or_not()


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether operators give the same bits in every run, or raise.

    Examples
    --------
    >>> import tt
    >>> tt.are_deterministic_algorithms_enabled()
    False
    """
    return DETERMINISM.required


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether operators that cannot give the same bits in every run warn.

    Examples
    --------
    >>> import tt
    >>> tt.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return DETERMINISM.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the same by one word: "default" (0) for no, "warn" (1), or "error" (2).

    Raises
    ------
    RuntimeError
        For another word or number.

    Examples
    --------
    >>> import tt
    >>> tt.set_deterministic_debug_mode("warn")
    >>> tt.get_deterministic_debug_mode()
    1
    >>> tt.set_deterministic_debug_mode(0)
    """
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    known = debug_mode in _MODES if isinstance(debug_mode, str) else 0 <= debug_mode < len(_MODES)
    if not known:
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, 2 or {', '.join(_MODES)}, but got {debug_mode}"
        )
    level = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2: what `set_deterministic_debug_mode` sets."""
    if not DETERMINISM.required:
        return 0
    return 1 if DETERMINISM.warn_only else 2


# --- precision and warnings ----------------------------------------------------------------------------------------


def set_float32_matmul_precision(precision: str) -> None:
    """Set how exact products of float32 matrices are: "highest", or "high" and "medium" for TF32 on CUDA.

    The CPU multiplies in float32 in any case.

    Raises
    ------
    RuntimeError
        For another word.

    Examples
    --------
    >>> import tt
    >>> tt.set_float32_matmul_precision("high")
    >>> tt.backends.cuda.matmul.allow_tf32, tt.get_float32_matmul_precision()
    (True, 'high')
    >>> tt.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise RuntimeError(f"{precision!r} is not one of {', '.join(map(repr, _PRECISIONS))}")
    tt.backends.cuda.matmul.allow_tf32 = precision != "highest"
    _Settings.precision = precision


def get_float32_matmul_precision() -> str:
    """Return how exact products of float32 matrices are: see `set_float32_matmul_precision`.

    Examples
    --------
    >>> import tt
    >>> tt.get_float32_matmul_precision()
    'highest'
    """
    if not tt.backends.cuda.matmul.allow_tf32:
        return "highest"
    return "high" if _Settings.precision == "highest" else _Settings.precision


def set_flush_denormal(mode: bool) -> bool:
    """Return False: the processor's rounding of the smallest numbers to zero is not changed.

    NumPy and Python share the process, and expect it as it is.

    Examples
    --------
    >>> import tt
    >>> tt.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, bool):
        raise ArgumentError("set_flush_denormal", f"expects a bool, but got {type(mode).__name__}")
    return False


def set_warn_always(b: bool, /) -> None:
    """Set whether warnings that tt gives once are given each time.

    Examples
    --------
    >>> import tt
    >>> tt.set_warn_always(True)
    >>> tt.is_warn_always_enabled()
    True
    >>> tt.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise ArgumentError("set_warn_always", f"expects a bool, but got {type(b).__name__}")
    if b and _Settings.filter is None:
        warnings.filterwarnings("always", category=UserWarning)
        # Remembered, to take away this filter and none of the program's.
        _Settings.filter = warnings.filters[0]
    elif not b and _Settings.filter is not None:
        if _Settings.filter in warnings.filters:
            warnings.filters.remove(_Settings.filter)  # type: ignore[attr-defined]
        _Settings.filter = None


def is_warn_always_enabled() -> bool:
    """Return whether warnings that tt gives once are given each time.

    Examples
    --------
    >>> import tt
    >>> tt.is_warn_always_enabled()
    False
    """
    return _Settings.filter is not None
