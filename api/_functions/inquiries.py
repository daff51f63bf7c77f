"""Functions of `tt` that test and describe a tensor, and are also methods."""

from __future__ import annotations

from typing import Any

import tt
from tt.core.types.promotion import result_type as _result_type
from tt.errors import ArgumentError
from tt.library import overridable
from tt.overrides import is_tensor_like

result_type = overridable(_result_type)

__all__ = [
    "get_device",
    "is_complex",
    "is_conj",
    "is_distributed",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "numel",
    "resize_as_",
    "result_type",
    "to_dlpack",
    "typename",
]


def _tensor(name: str, value: object, argument: str = "input") -> Any:
    if not (tt.is_tensor(value) or is_tensor_like(value)):
        raise ArgumentError(name, f"argument '{argument}' must be Tensor, not {type(value).__name__}")
    return value


@overridable
def is_floating_point(input: tt.Tensor) -> bool:
    """Return whether the dtype of a tensor is a floating point dtype.

    Examples
    --------
    >>> import tt
    >>> tt.is_floating_point(tt.ones(1)), tt.is_floating_point(tt.tensor(1))
    (True, False)
    """
    return bool(_tensor("is_floating_point", input).is_floating_point())


@overridable
def is_complex(input: tt.Tensor) -> bool:
    """Return whether the dtype of a tensor is complex.

    Examples
    --------
    >>> import tt
    >>> tt.is_complex(tt.tensor(1j))
    True
    """
    return bool(_tensor("is_complex", input).is_complex())


@overridable
def is_signed(input: tt.Tensor) -> bool:
    """Return whether the dtype of a tensor has negative numbers.

    Examples
    --------
    >>> import tt
    >>> tt.is_signed(tt.zeros(1, dtype=tt.uint8))
    False
    """
    return bool(_tensor("is_signed", input).is_signed())


@overridable
def is_conj(input: tt.Tensor) -> bool:
    """Return False: conjugation is carried out at once.

    Examples
    --------
    >>> import tt
    >>> tt.is_conj(tt.tensor([1j]).conj())
    False
    """
    return bool(_tensor("is_conj", input).is_conj())


@overridable
def is_neg(input: tt.Tensor) -> bool:
    """Return False: negation is carried out at once.

    Examples
    --------
    >>> import tt
    >>> tt.is_neg(-tt.ones(1))
    False
    """
    return bool(_tensor("is_neg", input).is_neg())


@overridable
def is_distributed(input: tt.Tensor) -> bool:
    """Return False, as PyTorch does for every tensor.

    Examples
    --------
    >>> import tt
    >>> tt.is_distributed(tt.ones(1))
    False
    """
    return bool(_tensor("is_distributed", input).is_distributed())


@overridable
def is_inference(input: tt.Tensor) -> bool:
    """Return whether a tensor was made in inference mode.

    Examples
    --------
    >>> import tt
    >>> with tt.inference_mode():
    ...     tt.is_inference(tt.ones(1))
    True
    """
    return bool(_tensor("is_inference", input).is_inference())


@overridable
def is_nonzero(input: tt.Tensor) -> bool:
    """Return whether the only element of a tensor is not zero.

    Raises
    ------
    RuntimeError
        If the tensor has more elements than one, or none.

    Examples
    --------
    >>> import tt
    >>> tt.is_nonzero(tt.tensor([0.5])), tt.is_nonzero(tt.tensor(0))
    (True, False)
    """
    return bool(_tensor("is_nonzero", input).is_nonzero())


@overridable
def is_same_size(input: tt.Tensor, other: tt.Tensor) -> bool:
    """Return whether two tensors have the same shape.

    Examples
    --------
    >>> import tt
    >>> tt.is_same_size(tt.ones(2, 1), tt.zeros(2, 1))
    True
    """
    return bool(_tensor("is_same_size", input).is_same_size(_tensor("is_same_size", other, "other")))


def is_storage(obj: object, /) -> bool:
    """Return whether an object is a storage, typed or not.

    Examples
    --------
    >>> import tt
    >>> tt.is_storage(tt.ones(1).untyped_storage()), tt.is_storage(tt.ones(1))
    (True, False)
    """
    return isinstance(obj, (tt.UntypedStorage, tt.TypedStorage))


@overridable
def numel(input: tt.Tensor) -> int:
    """Return the number of elements.

    Examples
    --------
    >>> import tt
    >>> tt.numel(tt.ones(2, 3))
    6
    """
    return int(_tensor("numel", input).numel())


@overridable
def get_device(input: tt.Tensor) -> int:
    """Return the index of the device of a tensor; -1 for the CPU.

    Examples
    --------
    >>> import tt
    >>> tt.get_device(tt.ones(1))
    -1
    """
    return int(_tensor("get_device", input).get_device())


@overridable
def resize_as_(
    input: tt.Tensor, the_template: tt.Tensor, *, memory_format: tt.memory_format | None = None
) -> tt.Tensor:
    """Give a tensor the size of another; elements beyond the old ones are undefined.

    Examples
    --------
    >>> import tt
    >>> tt.resize_as_(tt.arange(2), tt.zeros(2, 1)).shape
    tt.Size([2, 1])
    """
    resized: tt.Tensor = _tensor("resize_as_", input).resize_as_(the_template, memory_format=memory_format)
    return resized


def to_dlpack(input: tt.Tensor) -> Any:
    """Return a DLPack capsule of a tensor, for a library that takes no object with `__dlpack__`.

    Examples
    --------
    >>> import tt
    >>> tt.from_dlpack(tt.arange(3))
    tensor([0, 1, 2])
    >>> type(tt.to_dlpack(tt.arange(3))).__name__
    'PyCapsule'
    """
    return _tensor("to_dlpack", input).__dlpack__()


def typename(obj: object, /) -> str:
    """Return the name of an object's type: of a tensor as `Tensor.type()` has it.

    Examples
    --------
    >>> import tt
    >>> tt.typename(tt.ones(1)), tt.typename(1), tt.typename(tt.nn.Linear)
    ('tt.FloatTensor', 'int', 'tt.nn.modules.linear.Linear')
    """
    if tt.is_tensor(obj):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    prefix = "" if module in ("", "builtins", "__builtin__") else f"{module}."
    return f"{prefix}{named.__qualname__}"
