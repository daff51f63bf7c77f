"""The checks of results: their number, types and devices follow the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tt.core.schema.model import Return, Type
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import CheckedCall, tensors_in
from tt.testing.findings.log import Finding

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["returned", "wrong_results"]

_PYTHON = {
    "Scalar": (bool, int, float, complex), "int": (int,), "float": (float, int), "bool": (bool,), "str": (str,)
}  # fmt: skip


def returned(call: CheckedCall, result: Any) -> list[tuple[Return, Any]]:
    """Return each declared return with its value; those that are missing are left out."""
    returns = call.signature.returns
    if len(returns) == 1:
        return [(returns[0], result)]
    return list(zip(returns, result, strict=False)) if isinstance(result, list | tuple) else []


def wrong_results(call: CheckedCall, result: Any) -> Iterator[Finding]:
    """Compare the results of a call with its signature."""
    returns = call.signature.returns
    if not returns:
        if result is not None and result != ():
            yield Finding("wrong_result", f"{_kind(result)} came back, and the schema returns nothing", call)
        return
    results = returned(call, result)
    if len(results) != len(returns) or (len(returns) > 1 and len(result) != len(returns)):
        count = len(result) if isinstance(result, list | tuple) else 1
        yield Finding(
            "wrong_result", f"{count} results came back, and the schema returns {len(returns)}", call
        )
        return
    for index, (declared_, value) in enumerate(results):
        where = "the result" if len(returns) == 1 else f"result {index}"
        if not _fits(value, declared_.type):
            yield Finding(
                "wrong_result", f"{where} is {_kind(value)}, and the schema says {declared_.type}", call
            )
            continue
        for tensor in tensors_in(value):
            yield from _tensor(call, where, tensor)


def _fits(value: Any, type_: Type) -> bool:
    if type_.list:
        plain = Type(type_.base, optional=type_.element_optional)
        return isinstance(value, list | tuple) and all(_fits(item, plain) for item in value)
    if value is None:
        return type_.optional
    if type_.is_tensor:
        return isinstance(value, TensorBase)
    return isinstance(value, _PYTHON.get(type_.base, object))


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _tensor(call: CheckedCall, where: str, tensor: Tensor) -> Iterator[Finding]:
    """Compare a tensor's array with its dtype, shape and device, and with the expected device."""
    backend = tensor._spec.backend
    promised = backend.native_dtype(tensor.dtype)
    if isinstance(tensor._handle, backend.handle_type):
        held = backend.dtype_of(tensor._handle)
        if held != promised:
            yield Finding("wrong_dtype", f"{where} holds {held}, and says that it is {tensor.dtype}", call)
    devices = {str(t.device) for t in tensors_in(call.args)}
    own = call.operator.device_at >= 0
    if len(devices) == 1 and not own and str(tensor.device) not in devices:
        yield Finding(
            "wrong_device", f"{where} is on {tensor.device}, the arguments on {devices.pop()}", call
        )
