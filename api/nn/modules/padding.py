"""Padding: elements at the edges, by their values and the number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module
from tt.nn.modules.sizes import tuple_of

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Padding of the last dimensions, two numbers for each, the last dimension first."""

    padding: tuple[int, ...]
    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = tuple_of(padding, 2 * self._dims)

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


# --- a constant ------------------------------------------------------------------------------------------------


class _ConstantPadNd(_Pad):
    value: Any
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dimension with a value: (C, W) or (N, C, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConstantPad1d((1, 2), 9.0)(tt.zeros(1, 2))
    tensor([[9., 0., 0., 9., 9.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last two dimensions with a value: (C, H, W) or (N, C, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConstantPad2d((1, 0, 0, 0), 9.0)(tt.zeros(1, 1, 2))
    tensor([[[9., 0., 0.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad the last three dimensions with a value: (C, D, H, W) or (N, C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ConstantPad3d(1, 9.0)(tt.zeros(1, 1, 1, 1)).shape
    tt.Size([1, 3, 3, 3])
    """

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad the last dimension with zeros: (C, W) or (N, C, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ZeroPad1d(1)(tt.ones(1, 2))
    tensor([[0., 1., 1., 0.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad the last two dimensions with zeros: (C, H, W) or (N, C, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ZeroPad2d((1, 1, 0, 0))(tt.ones(1, 1, 2))
    tensor([[[0., 1., 1., 0.]]])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad the last three dimensions with zeros: (C, D, H, W) or (N, C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ZeroPad3d(1)(tt.ones(1, 1, 1, 1)).sum()
    tensor(1.)
    """

    _dims = 3


# --- the input itself ------------------------------------------------------------------------------------------


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad the last dimension with its elements in reverse, without the edge: (C, W) or (N, C, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReflectionPad1d(2)(tt.arange(3.0)[None])
    tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad the last two dimensions with their elements in reverse, without the edge: (C, H, W) or (N, C, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReflectionPad2d((1, 1, 0, 0))(tt.arange(3.0)[None, None])
    tensor([[[1., 0., 1., 2., 1.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad the last three dimensions with their elements in reverse: (C, D, H, W) or (N, C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReflectionPad3d(1)(tt.ones(1, 2, 2, 2)).shape
    tt.Size([1, 4, 4, 4])
    """

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pad the last dimension with the elements at its edges: (C, W) or (N, C, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReplicationPad1d(2)(tt.arange(3.0)[None])
    tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad the last two dimensions with the elements at their edges: (C, H, W) or (N, C, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReplicationPad2d((1, 1, 0, 0))(tt.arange(2.0)[None, None])
    tensor([[[0., 0., 1., 1.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad the last three dimensions with the elements at their edges: (C, D, H, W) or (N, C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.ReplicationPad3d(1)(tt.ones(1, 1, 1, 1)).sum()
    tensor(27.)
    """

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the padded input."""
        # Circular padding takes inputs of any rank; PyTorch's modules allow only a sample or a batch.
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(
                f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.ndim}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pad the last dimension with the elements at its other end: (C, W) or (N, C, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.CircularPad1d(1)(tt.arange(3.0)[None])
    tensor([[2., 0., 1., 2., 0.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad the last two dimensions with the elements at their other ends: (C, H, W) or (N, C, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.CircularPad2d((1, 0, 0, 0))(tt.arange(3.0)[None, None])
    tensor([[[2., 0., 1., 2.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad the last three dimensions with the elements at their other ends: (C, D, H, W) or (N, C, D, H, W).

    Examples
    --------
    >>> import tt
    >>> tt.nn.CircularPad3d(1)(tt.ones(1, 1, 1, 1)).sum()
    tensor(27.)
    """

    _dims = 3
