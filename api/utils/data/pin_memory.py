"""Pinning: batches in page-locked memory, from which an accelerator copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tt
from tt.types import Device
from tt.utils.data.collate import rebuild_mapping, rebuild_sequence

__all__ = ["pin_memory"]


def pin_memory(data: object, device: Device = None) -> Any:
    """Return a batch whose tensors are in page-locked memory.

    Parameters
    ----------
    data : object
        Tensors, objects with a method `pin_memory`, or mappings and sequences of them; all else stays as it is.
    device : Device or str, optional
        The accelerator.

    Returns
    -------
    object
        The batch.

    Examples
    --------
    >>> from tt.utils.data.pin_memory import pin_memory
    >>> pin_memory(["text", 1])
    ['text', 1]
    """
    if isinstance(data, tt.Tensor):
        return data.pin_memory(device)
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, str | bytes):
        return data
    if isinstance(data, Mapping):
        return rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple):
        items = [pin_memory(value, device) for value in data]
        return type(data)(*items) if hasattr(data, "_fields") else type(data)(items)
    if isinstance(data, Sequence):
        return rebuild_sequence(data, [pin_memory(value, device) for value in data])
    return data
