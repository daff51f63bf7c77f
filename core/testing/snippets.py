"""Snippets: Python code that repeats a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["snippet"]


def code_of(value: Any) -> str:
    """Return an expression that makes an equal argument, for tensors in the same memory layout.

    Examples
    --------
    >>> import tt
    >>> from tt.core.testing.snippets import code_of
    >>> code_of(tt.tensor([1, 2]))
    'tt.tensor([1, 2], dtype=tt.int64)'
    """
    if isinstance(value, TensorBase):
        return _tensor(value)
    if isinstance(value, list | tuple):
        items = [code_of(item) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f"float({str(value)!r})"
    if type(value).__name__ == "Device":
        return repr(str(value))
    return repr(value)


def _tensor(value: Any) -> str:
    device = "" if value.device.type == "cpu" else f", device={str(value.device)!r}"
    if value.is_contiguous() or not value.numel():
        made = f"tt.tensor({_numbers(value.tolist())}, dtype={value.dtype}{device})"
        return (
            made
            if value.numel() or value.ndim < 2
            else f"tt.empty({tuple(value.shape)}, dtype={value.dtype}{device})"
        )
    memory = _numbers(_memory(value).tolist())
    how = f"{tuple(value.shape)}, {tuple(value.stride())}, {value.storage_offset()}"
    return f"tt.tensor({memory}, dtype={value.dtype}{device}).as_strided({how})"


def _memory(value: Any) -> np.ndarray[Any, Any]:
    """Return the memory behind a tensor as far as the tensor reads it, with zeros between its elements.

    It is put together from the values, so that a snippet needs no operator that may be what is wrong.
    """
    values = as_array(value)
    positions = np.full(values.shape, value.storage_offset())
    for dim, (size, stride) in enumerate(zip(value.shape, value.stride(), strict=True)):
        positions += (np.arange(size) * stride).reshape((-1,) + (1,) * (values.ndim - dim - 1))
    memory = np.zeros(int(positions.max()) + 1, values.dtype)
    memory[positions] = values
    return memory


def _numbers(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_numbers, values))}]"
    return code_of(values)


def snippet(definition: OpDefinition, form: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return code that repeats a call of an operator.

    Parameters
    ----------
    definition : OpDefinition
        The operator.
    form : str
        "functional" or "inplace".
    args, kwargs : sequence, mapping
        Of the call.
    """
    given = [code_of(value) for value in args]
    named = [f"{name}={code_of(value)}" for name, value in kwargs.items()]
    if form == "inplace":
        return f"import tt\n{given[0]}.{definition.signature.name}_({', '.join([*given[1:], *named])})"
    path = definition.name.replace("::", ".")
    return f"import tt\ntt.ops.{path}({', '.join([*given, *named])})"
