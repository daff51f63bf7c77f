"""Int8Weight: a weight that shows a floating point dtype and keeps int8 numbers.

As in torchao, quantisation is a class of tensors, not a class of layers.  A network whose weights are
replaced still calls `F.linear` and `F.conv2d`, and the class handles them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
import tt.nn.functional as F
from tt import nn
from tt.utils._pytree import tree_map_only

__all__ = ["Int8Weight", "quantize_"]

LEVELS = 127
"""The largest int8 number that is used: the range is symmetric, so that zero stays zero and the sign is for free."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
OPERATORS: dict[Any, Callable[..., Any]] = {}


class Int8Weight(tt.Tensor):
    """A weight whose output channels (dim 0) are int8 numbers times one floating point scale each.

    Attributes
    ----------
    numbers : Tensor
        int8, of the shape of the weight.
    scale : Tensor
        Floating point, one for each output channel.

    Examples
    --------
    >>> import tt
    >>> from tt.examples.quantized.weight import Int8Weight
    >>> w = Int8Weight.from_float(tt.tensor([[1.0, -0.5], [10.0, 20.0]]))
    >>> w
    Int8Weight(shape=[2, 2], dtype=tt.float32, numbers=tt.int8, scale=[0.0079, 0.1575])
    >>> tt.nn.functional.linear(tt.tensor([1.0, 1.0]), w)
    tensor([ 0.4961, 30.0787])
    """

    numbers: tt.Tensor
    scale: tt.Tensor

    @staticmethod
    def __new__(cls: Any, numbers: tt.Tensor, scale: tt.Tensor) -> Int8Weight:
        """Make a weight of its parts."""
        made: Int8Weight = tt.Tensor._make_wrapper_subclass(
            cls, numbers.shape, dtype=scale.dtype, device=numbers.device
        )
        made.numbers, made.scale = numbers, scale
        return made

    @classmethod
    def from_float(cls, weight: tt.Tensor) -> Int8Weight:
        """Return a weight rounded to int8, with the scale that lets the largest element of a channel be 127."""
        weight = weight.detach()
        if weight.ndim < 2 or not weight.is_floating_point():
            raise ValueError(
                f"a weight in int8 is a floating point tensor of two dims or more, not {weight.dtype} of shape "
                f"{list(weight.shape)}"
            )
        largest = weight.abs().flatten(1).amax(1)
        # A channel of zeros keeps them with any scale.
        scale = tt.where(largest > 0, largest / LEVELS, tt.ones_like(largest))
        numbers = (weight / _beside(scale, weight.ndim)).round().clamp(-LEVELS, LEVELS).to(tt.int8)
        return cls(numbers, scale)

    def dequantize(self) -> tt.Tensor:
        """Return the dequantised weight."""
        return self.numbers.to(self.scale.dtype) * _beside(self.scale, self.numbers.ndim)

    @property
    def kept_bytes(self) -> int:
        """The size of the weight in bytes."""
        return self.numbers.nbytes + self.scale.nbytes

    def __repr__(self) -> str:
        """Show the parts; the int8 numbers of a network would fill pages."""
        scale = ", ".join(f"{s:.4f}" for s in self.scale.tolist()[:3]) + (
            "" if len(self.scale) <= 3 else ", ..."
        )
        parts = f"shape={list(self.shape)}, dtype={self.dtype}, numbers={self.numbers.dtype}"
        return f"Int8Weight({parts}, scale=[{scale}])"

    @classmethod
    def __tt_function__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer `F.linear` before it is taken apart; everything else continues to the operators."""
        found = FUNCTIONS.get(func)
        if found is not None:
            return found(*args, **(kwargs or {}))
        return super().__tt_function__(func, types, args, kwargs)

    @classmethod
    def __tt_dispatch__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer what keeps the int8 numbers; other operators get the floating point tensor."""
        found = OPERATORS.get(func)
        if found is not None:
            return found(*args, **(kwargs or {}))
        if func.name.endswith("_") and isinstance(args[0], Int8Weight):
            raise NotImplementedError(
                f"{func.name}() would change a weight in int8; compute a new weight and give it to copy_()"
            )
        args, kwargs = tree_map_only(Int8Weight, Int8Weight.dequantize, (args, kwargs or {}))
        return func(*args, **kwargs)


def _beside(scale: tt.Tensor, ndim: int) -> tt.Tensor:
    """Return scales shaped so that they multiply dim 0 of a tensor of that many dims."""
    return scale.reshape(-1, *[1] * (ndim - 1))


def _plain(tensor: tt.Tensor) -> tt.Tensor:
    return tensor.dequantize() if isinstance(tensor, Int8Weight) else tensor


# --- functions and operators ---------------------------------------------------------------------------------------


def _function(func: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda handler: FUNCTIONS.setdefault(func, handler)


def _operator(*funcs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(handler: Callable[..., Any]) -> Callable[..., Any]:
        for func in funcs:
            OPERATORS[func] = handler
        return handler

    return add


@_function(F.linear)
def _linear(input: tt.Tensor, weight: tt.Tensor, bias: tt.Tensor | None = None) -> Any:
    """Multiply by the int8 numbers, then scale the few results instead of the many weights."""
    if not isinstance(weight, Int8Weight):
        return F.linear(_plain(input), weight, bias)
    found = F.linear(input, weight.numbers.to(input.dtype)) * weight.scale
    return found if bias is None else found + bias


@_operator(tt.ops.conv2d)
def _conv2d(input: tt.Tensor, weight: tt.Tensor, bias: tt.Tensor | None = None, *options: Any) -> Any:
    """Convolve with the int8 numbers, then scale the channels of the result."""
    if not isinstance(weight, Int8Weight) or isinstance(input, Int8Weight):
        return tt.ops.conv2d(_plain(input), _plain(weight), None if bias is None else _plain(bias), *options)
    found = tt.ops.conv2d(input, weight.numbers.to(input.dtype), None, *options) * weight.scale[:, None, None]
    return found if bias is None else found + bias[:, None, None]


@_operator(tt.ops.detach, tt.ops.alias)
def _same(weight: Int8Weight) -> Int8Weight:
    return Int8Weight(weight.numbers, weight.scale)


@_operator(tt.ops.clone)
def _clone(weight: Int8Weight, **options: Any) -> Int8Weight:
    return Int8Weight(weight.numbers.clone(), weight.scale.clone())


@_operator(tt.ops._to_copy)
def _to_copy(weight: Int8Weight, *, dtype: Any = None, device: Any = None, **options: Any) -> tt.Tensor:
    """Move both parts; a floating point dtype applies to the scale, any other to the dequantised tensor."""
    if dtype is not None and not dtype.is_floating_point:
        return weight.dequantize().to(device=device, dtype=dtype)
    device = weight.device if device is None else device
    return Int8Weight(weight.numbers.to(device, copy=True), weight.scale.to(device, dtype, copy=True))


@_operator(tt.ops.copy_)
def _copy(target: tt.Tensor, source: tt.Tensor, *options: Any) -> tt.Tensor:
    if not isinstance(target, Int8Weight):
        return target.copy_(source.dequantize() if isinstance(source, Int8Weight) else source)
    if not isinstance(source, Int8Weight):
        source = Int8Weight.from_float(source.expand(target.shape).to(target.dtype))
    target.numbers.copy_(source.numbers)
    target.scale.copy_(source.scale)
    return target


# --- networks ------------------------------------------------------------------------------------------------------


def quantize_(network: nn.Module, chosen: Callable[[str, tt.Tensor], bool] | None = None) -> list[str]:
    """Replace the weights of a network by weights in int8, and return the names of those that were replaced.

    Parameters
    ----------
    network : Module
        Its floating point parameters of two dims or more are its weights.
    chosen : callable, optional
        Takes the name and the tensor of a weight, and returns whether to replace it; by default all are.

    Examples
    --------
    >>> import tt
    >>> from tt.examples.quantized.weight import quantize_
    >>> layer = tt.nn.Linear(3, 2)
    >>> quantize_(layer), isinstance(layer.weight, tt.nn.Parameter)
    (['weight'], True)
    >>> layer(tt.ones(3)).shape
    tt.Size([2])
    """
    names = []
    weights: dict[str, tt.Tensor] = dict(network.named_parameters())
    for name, value in weights.items():
        if value.ndim < 2 or not value.is_floating_point() or isinstance(value, Int8Weight):
            continue
        if chosen is None or chosen(name, value):
            path, _, short = name.rpartition(".")
            weight = nn.Parameter(Int8Weight.from_float(value), requires_grad=False)
            setattr(network.get_submodule(path), short, weight)
            names.append(name)
    return names
