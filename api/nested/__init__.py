"""tt.nested: tensors whose rows differ in length."""

from __future__ import annotations

from typing import Any

from tt.core.startup import start as _start
from tt.core.types.layout import to_layout as _to_layout
from tt.plugins.nested.construct import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

__all__ = [
    "as_nested_tensor",
    "jagged",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

# Its functions may be the first ones that are called, and use the methods of tensors.
_start()


def __getattr__(name: str) -> Any:
    # Looked up by name, so that a blocked or broken plugin raises with its reason.
    if name == "jagged":
        return _to_layout(name)
    raise AttributeError(f"module 'tt.nested' has no attribute {name!r}")
