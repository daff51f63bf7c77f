"""Capsules of DLPack: Python objects that hold a description of memory, which a consumer takes once."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from tt.core.errors import ExportError

__all__ = ["CapsuleSource", "capsule_name", "capsule_pointer", "is_capsule"]

capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

# Where the device is in a DLManagedTensor, and in a DLManagedTensorVersioned with its header of 32 bytes.
_DEVICE_AT: Final = {b"dltensor": 8, b"dltensor_versioned": 40}
_USED: Final = (b"used_dltensor", b"used_dltensor_versioned")


# The type has no public name, so that it is known by the name of its class.
def is_capsule(value: Any) -> bool:
    """Return whether an object is a capsule of DLPack, as `to_dlpack` and `x.__dlpack__()` return it."""
    return type(value).__name__ == "PyCapsule" and capsule_name(value) in (*_DEVICE_AT, *_USED)


class CapsuleSource:
    """A capsule of DLPack in the form of an object with `__dlpack__`, which gives it away once.

    Parameters
    ----------
    capsule : PyCapsule
        For which `is_capsule` holds.

    Raises
    ------
    ExportError
        If the memory of the capsule was taken before.
    """

    def __init__(self, capsule: Any) -> None:
        name = capsule_name(capsule)
        if name not in _DEVICE_AT:
            raise ExportError(
                "from_dlpack(): the memory of a capsule can be taken once, and this one is used"
            )
        self._capsule, self._name = capsule, name

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the type and the number of the device."""
        # Read from the struct: the capsule must not be consumed to learn where its memory is.
        address = capsule_pointer(self._capsule, self._name) + _DEVICE_AT[self._name]
        kind, number = (ctypes.c_int32.from_address(address + offset).value for offset in (0, 4))
        return kind, number

    def __dlpack__(self, **_options: Any) -> Any:
        """Return the capsule, whatever version and stream the consumer asks for."""
        return self._capsule
