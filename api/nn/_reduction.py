"""The reductions of losses, as numbers and by their deprecated arguments, at PyTorch's path."""

from __future__ import annotations

from tt.nn.modules.loss_base import _legacy

__all__: list[str] = []

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return the number of a reduction: 0 for "none", 1 for "mean", 2 for "sum"."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction that the deprecated arguments of losses mean."""
    return _legacy(size_average, reduce, emit_warning)


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the number of the reduction that the deprecated arguments of losses mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
