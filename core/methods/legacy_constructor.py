"""`tt.Tensor(...)`: PyTorch's first constructor, which takes sizes or data.

The factories have explicit names; older programs, and subclasses, call the class.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import UnsupportedError, describe
from tt.core.methods.as_subclass import as_kind, as_subclass
from tt.core.methods.creation import tensor
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import Device, to_device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import get_default_dtype
from tt.core.types.size import Size

__all__ = ["construct", "construct_as", "new", "refuse_device"]


def construct(cls: type[Tensor], *args: Any, device: Device | str | int | None = None, **data: Any) -> Tensor:
    """Return a tensor of the default dtype: of the given sizes, with the given data, or without elements.

    Parameters
    ----------
    *args : int, or Size, or Tensor, or sequence or array of numbers
        Sizes, of a tensor whose elements may be anything; or the data.  A tensor is shared, with its dtype.
    device : Device or str, optional
        By default the default device.

    Raises
    ------
    TypeError
        For a number that is not an integer, and for anything that is neither sizes nor data.
    RuntimeError
        For negative sizes, and for a tensor with a device.

    Examples
    --------
    >>> import tt
    >>> tt.Tensor([1, 2]), tt.Tensor(2, 0), tt.Tensor()
    (tensor([1., 2.]), tensor([], size=(2, 0)), tensor([]))
    """
    if data:
        args = (*args, data.pop("data", None)) if "data" in data and not args else args
        if data:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {next(iter(data))!r}")
    first = args[0] if len(args) == 1 else None
    if isinstance(first, Tensor):
        refuse_device(cls.__name__, device)
        return as_subclass(first, cls)
    result = _made(cls.__name__, args, get_default_dtype(), device)
    return result if cls is Tensor else as_kind(result, cls)


def refuse_device(name: str, device: Any) -> None:
    """Refuse the device of a constructor that gets a tensor: where a tensor is shared, nothing is moved."""
    if device is not None:
        raise UnsupportedError(
            f"{name}() of a tensor takes no device: it shares the memory\n  try: x.to(device)"
        )


def construct_as(name: str, args: tuple[Any, ...], dtype: Dtype, device: Any) -> Tensor:
    """Make a tensor as a constructor of one dtype and device does: `tt.LongTensor(2, 3)`, `x.new([1, 2])`.

    Parameters
    ----------
    name : str
        The name of the constructor, for errors.
    args : tuple
        Sizes, data, or a tensor, which must have the dtype and is shared.

    Raises
    ------
    TypeError
        For a tensor of another dtype or device, and for anything that is neither sizes nor data.
    """
    first = args[0] if len(args) == 1 else None
    if isinstance(first, Tensor):
        if first.dtype != dtype or first.device != Device(device):
            raise TypeError(
                f"{name}() takes a tensor of {dtype} on {Device(device)}, not of {first.dtype} on {first.device}\n"
                "  try: x.to(dtype), which converts"
            )
        return first.detach()
    return _made(name, args, dtype, device)


def _made(name: str, args: tuple[Any, ...], dtype: Dtype, device: Any) -> Tensor:
    first = args[0] if len(args) == 1 else None
    # A Size is a sequence, and means sizes here; a list means numbers.
    if first is not None and not isinstance(first, Size) and _is_data(first):
        return tensor(first, dtype=dtype, device=device)
    return ops.empty(_sizes(name, args), dtype=dtype, device=device)


def _is_data(value: Any) -> bool:
    """Return whether an argument holds numbers: no string does, and a number of NumPy's is one."""
    if isinstance(value, str | bytes | np.generic | Mapping):
        return False
    return hasattr(value, "__len__") or hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")


def _sizes(name: str, args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return sizes that are written one by one, or as a Size."""
    if not args:
        return (0,)
    if len(args) == 1 and isinstance(args[0], Size):
        return args[0]
    sizes = []
    for value in args:
        try:
            # True is an int, but no size.
            if isinstance(value, bool):
                raise TypeError
            sizes.append(operator.index(value))
        except TypeError:
            what = "data must be a sequence" if len(args) == 1 else "sizes are integers"
            raise TypeError(
                f"{name}(): {what} (got {describe(value)})\n  try: tt.tensor(...), which takes numbers, too"
            ) from None
    return tuple(sizes)


def new(self: Tensor, *args: Any, size: Sequence[int] | None = None, device: Any = None) -> Tensor:
    """Return a tensor of this one's dtype and device: of the given sizes, or with the given data.

    The older form of `new_empty` and `new_tensor`.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, dtype=tt.int64).new([1, 2]), tt.zeros(1).new(2, 0).shape
    (tensor([1, 2]), tt.Size([2, 0]))
    """
    if size is not None:
        if args:
            raise TypeError("new() takes data or size=, not both")
        args = (Size(size),)
    if len(args) == 1 and isinstance(args[0], Tensor):
        refuse_device("new", device)
    return construct_as("new", args, self.dtype, self.device if device is None else to_device(device))
