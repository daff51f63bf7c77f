"""tt.types: the kinds of arguments, for annotations."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

import tt

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
"""A number in a signature."""
Device: TypeAlias = tt.device | str | int | None
"""A device in a signature."""
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""A file in a signature: its name, or an open file."""
Storage: TypeAlias = Any
"""A storage in a signature, `tt.UntypedStorage` or `tt.TypedStorage`."""

# Names that programs import for their annotations.
_device = tt.device
_dtype = tt.dtype
_layout = tt.layout
_size = tt.Size | list[int] | tuple[int, ...]
_int = int
_float = float
_bool = bool
