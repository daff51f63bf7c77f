"""tt.types: the kinds of arguments, for annotations."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

import tt

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number: TypeAlias = int | float | bool
"""What stands for a number in a signature."""
Device: TypeAlias = tt.device | str | int | None
"""What stands for a device in a signature."""
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
"""What stands for a file: its name, or an open one."""
Storage: TypeAlias = Any
"""What stands for a storage, `tt.UntypedStorage` or `tt.TypedStorage`."""
