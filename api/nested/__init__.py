"""tt.nested: tensors whose rows differ in length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core import start as _start
from tt.core.lazy import attach
from tt.core.types.layout import to_layout as _to_layout
from tt.plugins.nested.construct import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

if TYPE_CHECKING:
    from tt.core.types.layout import layout

    jagged: layout

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
    # Looked up by name, so that a blocked or broken plugin raises with its reason.
    *attach(__name__, {_to_layout: "jagged"}),
]

# Its functions may be the first ones that are called, and use the methods of tensors.
_start()
