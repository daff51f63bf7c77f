"""Forward mode as `tt.autograd.forward_ad`: tensors that carry a tangent inside a level."""

from __future__ import annotations

from typing import Any, NamedTuple

from tt.core.library import Block, Carried, Tensor, TensorBase, errors
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.transforms.levels import DualLevel, dual, enter_dual, leave_dual, primal_and_tangent

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Stack(Carried):
    def __init__(self) -> None:
        self.levels: tuple[DualLevel, ...] = ()


_OPEN = _Stack()


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`.

    Attributes
    ----------
    primal : Tensor
        The value.
    tangent : Tensor or None
        The tangent, None if there is none.
    """

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Enter a level of forward mode and return its number; `dual_level` does so for a `with` block.

    Examples
    --------
    >>> import tt.autograd.forward_ad as forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    _OPEN.levels = (*_OPEN.levels, enter_dual(transform=False))
    return len(_OPEN.levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the innermost level of forward mode; its tangents are gone.

    Parameters
    ----------
    level : int, optional
        What `enter_dual_level` returned, which must be the innermost.

    Raises
    ------
    GradientError
        When no level is open, or another is the innermost.
    """
    if not _OPEN.levels:
        raise errors.GradientError("exit_dual_level(): no level of forward mode is open")
    if level is not None and level != len(_OPEN.levels) - 1:
        raise errors.GradientError(
            f"exit_dual_level(): level {level} is not the innermost, which is {len(_OPEN.levels) - 1}"
        )
    leave_dual(_OPEN.levels[-1])
    _OPEN.levels = _OPEN.levels[:-1]


class dual_level(Block):  # noqa: N801 - PyTorch's name
    """Opens a level of forward mode for a `with` block.

    Examples
    --------
    >>> import tt
    >>> import tt.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(tt.tensor(3.0), tt.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def _look(self) -> int:
        return len(_OPEN.levels)

    def _begin(self) -> int:
        return enter_dual_level()

    def _end(self, before: int) -> None:
        if len(_OPEN.levels) > before:
            exit_dual_level()


def _level(level: int | None, function: str) -> DualLevel:
    if not _OPEN.levels:
        raise errors.GradientError(
            f"{function}(): no level of forward mode is open\n  try: with tt.autograd.forward_ad.dual_level(): ..."
        )
    if level is None:
        return _OPEN.levels[-1]
    if not 0 <= level < len(_OPEN.levels):
        raise errors.GradientError(
            f"{function}(): level {level} does not exist; {len(_OPEN.levels)} are open"
        )
    return _OPEN.levels[level]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """Return a tensor with a tangent.

    Parameters
    ----------
    tensor, tangent : Tensor
        Of the same shape, dtype and device.
    level : int, optional
        The level; the innermost by default.

    Raises
    ------
    GradientError
        When no level is open, the two do not match, or the dtype has no derivative.

    Examples
    --------
    >>> import tt
    >>> import tt.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(tt.ones(2), tt.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x.exp())
    UnpackedDualTensor(primal=tensor([2.7183, 2.7183]), tangent=tensor([2.7183, 0.0000]))
    """
    dual_level = _level(level, "make_dual")
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, TensorBase):
            raise errors.ArgumentError("make_dual", f"{name} must be a Tensor, not {errors.describe(value)}")
        if not STATE.floating >> value._spec.code & 1:
            raise errors.ValueRangeError(f"make_dual(): {name} has {value.dtype}, which has no derivative")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise errors.GradientError(
            f"make_dual: the tangent has shape {list(tangent.shape)}, and the tensor {list(tensor.shape)}"
        )
    if tensor.dtype is not tangent.dtype or tensor.device != tangent.device:
        raise errors.GradientError(
            f"make_dual: the tangent is {tangent.dtype} on {tangent.device}, and the tensor {tensor.dtype} on "
            f"{tensor.device}"
        )
    if primal_and_tangent(tensor, dual_level)[1] is not None:
        raise errors.GradientError(
            "make_dual: the tensor has a tangent at this level; unpack_dual() it first"
        )
    return dual(tensor, tangent, dual_level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a tensor.

    Parameters
    ----------
    tensor : Tensor
        With or without a tangent.
    level : int, optional
        The level; the innermost by default.

    Returns
    -------
    UnpackedDualTensor
        The named tuple (primal, tangent); the tangent is None if there is none.

    Examples
    --------
    >>> import tt
    >>> import tt.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.unpack_dual(tt.ones(1))
    UnpackedDualTensor(primal=tensor([1.]), tangent=None)
    """
    # Outside of all levels no tensor has a tangent, which is an answer and no mistake.
    if not _OPEN.levels and level is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*primal_and_tangent(tensor, _level(level, "unpack_dual")))
