"""Options of optimizers: the checks of constructors, and values as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import tt
from tt.errors import UnsupportedError

__all__ = [
    "Options", "State", "expect_betas", "expect_not_negative", "expect_rate", "expect_whole", "in_numbers",
    "is_set", "to_number",
]  # fmt: skip

State = dict[str, Any]
Options = dict[str, Any]


def is_set(value: float | tt.Tensor) -> bool:
    """Return whether an option is anything but zero; a tensor is, unread."""
    return bool(tt.is_tensor(value) or value != 0)


def expect_rate(lr: float | tt.Tensor) -> None:
    """Raise unless a learning rate is a number that is not negative, or a tensor of one element."""
    if isinstance(lr, tt.Tensor):
        if lr.numel() != 1:
            raise ValueError(f"Tensor lr must be 1-element, got shape {tuple(lr.shape)}")
    elif not lr >= 0:
        raise ValueError(f"Invalid learning rate: {lr}")


def expect_betas(betas: Sequence[Any]) -> None:
    """Raise unless the decay rates of averages are in [0, 1)."""
    for index, beta in enumerate(betas):
        if not tt.is_tensor(beta) and not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def expect_not_negative(**options: Any) -> None:
    """Raise for an option that is negative, or not a number."""
    for name, value in options.items():
        if not tt.is_tensor(value) and not value >= 0:
            raise ValueError(f"Invalid {name} value: {value}")


def expect_whole(name: str, tensors: Iterable[Any]) -> None:
    """Raise for a tensor of which this rank has only some rows: the optimizer's step looks at wholes."""
    for index, tensor in enumerate(tensors):
        if hasattr(type(tensor), "to_local"):
            raise UnsupportedError(
                f"{name}: tensor {index} is divided among ranks, and a step looks at more than single elements\n"
                "  try: an optimizer whose step is element by element, such as AdamW, or DistributedDataParallel"
            )


def to_number(value: Any) -> Any:
    """Return an option with the tensors in it as numbers."""
    if tt.is_tensor(value):
        return value.item()
    if isinstance(value, tuple) and any(tt.is_tensor(item) for item in value):
        return tuple(to_number(item) for item in value)
    return value


_PLAIN: Final = (float, int, bool, str, list, type(None))


def in_numbers(group: Options) -> Options:
    """Return a group with the tensors in its options as numbers; the group itself, if there are none."""
    if all(isinstance(value, _PLAIN) or to_number(value) is value for value in group.values()):
        return group
    return {name: value if name == "params" else to_number(value) for name, value in group.items()}
