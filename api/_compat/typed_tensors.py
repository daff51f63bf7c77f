"""`tt.FloatTensor`, `tt.cuda.LongTensor` and their like: constructors of one dtype and device, and types to test for.

They are what PyTorch had before dtypes; `tt.tensor(..., dtype=...)` and `x.dtype` say the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import tt
from tt.core.methods.legacy_constructor import construct_as, refuse_device
from tt.library import warn_user
from tt.types import Device

__all__ = ["NAMES", "TensorType", "of_device", "set_default_tensor_type"]

NAMES = {
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}
"""The constructors and their dtypes."""


class TensorType(type):
    """The class of `tt.FloatTensor` and similar types: `isinstance` checks dtype, device and layout of a tensor."""

    dtype: Any
    is_cuda: bool
    _device: str
    _layout: Any = None
    """The layout of tensors of the type; strided if it is None."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> TensorType:
        for base in bases:
            if isinstance(base, TensorType):  # its instances are plain tensors, which no subclass describes
                raise TypeError(f"type '{base}' is not an acceptable base type\n  try: tt.Tensor")
        return super().__new__(cls, name, bases, members)

    def __instancecheck__(cls, instance: object) -> bool:
        if not tt.is_tensor(instance):
            return False
        same = instance.dtype == cls.dtype and instance.device.type == cls._device
        return bool(same and instance.layout == (cls._layout or tt.strided))

    def __call__(cls, *args: Any, device: Device = None) -> Any:
        # A tensor as the only argument brings its own device, which a second one could only contradict.
        if len(args) == 1 and tt.is_tensor(args[0]):
            refuse_device(cls.__name__, device)
        chosen = tt.device(cls._device if device is None else device)
        if chosen.type != cls._device:
            raise RuntimeError(
                f"legacy constructor expects device type: {cls._device} but device type: {chosen.type} was passed"
            )
        return construct_as(cls.__name__, args, cls.dtype, chosen)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


@cache
def of_device(device: str) -> dict[str, TensorType]:
    """Return the constructors of a device type."""
    module = "tt" if device == "cpu" else f"tt.{device}"
    types = {}
    for name, dtype in NAMES.items():
        kind = getattr(tt, dtype)
        doc = (
            f"Makes tensors of {kind} on the device {device}: of sizes, `{name}(2)`, or data, `{name}([1])`.\n\n"
            f"    `isinstance(x, {module}.{name})` tests for it; so does `x.dtype`.\n    "
        )
        members = {
            "__module__": module,
            "__doc__": doc,
            "dtype": kind,
            "is_cuda": device == "cuda",
            "_device": device,
        }
        types[name] = TensorType(name, (), members)
    return types


_TYPES = of_device("cpu")
BFloat16Tensor = _TYPES["BFloat16Tensor"]
BoolTensor = _TYPES["BoolTensor"]
ByteTensor = _TYPES["ByteTensor"]
CharTensor = _TYPES["CharTensor"]
DoubleTensor = _TYPES["DoubleTensor"]
FloatTensor = _TYPES["FloatTensor"]
HalfTensor = _TYPES["HalfTensor"]
IntTensor = _TYPES["IntTensor"]
LongTensor = _TYPES["LongTensor"]
ShortTensor = _TYPES["ShortTensor"]


def set_default_tensor_type(t: Any, /) -> None:
    """Set the dtype, and the device, that factories use: by the name of a type, or the type itself.

    `tt.set_default_dtype` and `tt.set_default_device` say it in newer programs.

    Parameters
    ----------
    t : type or str
        Such as `tt.DoubleTensor` or "tt.DoubleTensor"; floating point.

    Raises
    ------
    TypeError
        If it is not such a type.

    Examples
    --------
    >>> import tt
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tt.set_default_tensor_type(tt.DoubleTensor)
    ...     tt.ones(1).dtype
    ...     tt.set_default_tensor_type("tt.FloatTensor")
    tt.float64
    """
    warn_user(
        "tt.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use tt.set_default_dtype() and "
        "tt.set_default_device() as alternatives."
    )
    kind = t
    if isinstance(t, str):
        # Programs name the types of PyTorch in text, which importing tt under its name does not change.
        module, _, name = t.replace("torch.", "tt.", 1).rpartition(".")
        owner = {"tt": tt, "tt.cuda": tt.cuda}.get(module)
        kind = getattr(owner, name, None) if name in NAMES else None
    if not isinstance(kind, TensorType):
        raise TypeError(
            f"set_default_tensor_type() takes a type such as tt.DoubleTensor or its name, not {t!r}"
        )
    if not kind.dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {kind}")
    if kind.is_cuda and not tt.cuda.is_available():
        raise TypeError(f"type {kind} not available: no CUDA device was found")
    tt.set_default_dtype(kind.dtype)
    tt.set_default_device(None if kind._device == "cpu" else kind._device)
