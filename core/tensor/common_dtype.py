"""The dtype to which tensors and numbers promote, among those that the device of the tensors has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.errors import DtypeError
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import complex32, complex64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import result_type

if TYPE_CHECKING:
    from tt.core.tensor.backend import Backend

__all__ = ["common_dtype", "has_complex32"]


def common_dtype(*values: Any) -> Dtype:
    """Return the dtype to which tensors and numbers promote, as `result_type`, on the device of the tensors."""
    promoted = result_type(*values)
    if promoted is complex32:
        tensor = next((value for value in values if isinstance(value, TensorBase)), None)
        if tensor is not None and not has_complex32(tensor._spec.backend):
            return complex64
    return promoted


def has_complex32(backend: Backend) -> bool:
    """Return whether a backend has arrays of complex32."""
    # A backend may raise what its library raises for a dtype that it does not have.
    try:
        backend.native_dtype(complex32)
    except (DtypeError, AttributeError, KeyError, TypeError, ValueError, NotImplementedError):
        return False
    return True
