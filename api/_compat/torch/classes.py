"""torch.classes: classes of PyTorch's C++ extensions, none of which tt can load."""

from __future__ import annotations

from typing import Any

from tt.errors import UnsupportedError

__all__ = ["load_library"]

loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """Raise: a library of PyTorch's C++ cannot be loaded.

    Raises
    ------
    UnsupportedError
        Always.
    """
    raise UnsupportedError(
        f"torch.classes.load_library({path!r}): it is built for PyTorch's C++, which tt lacks"
    )
