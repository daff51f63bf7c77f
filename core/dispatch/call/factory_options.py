"""Options of every factory that are not in its schema, because they apply to the finished tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["FACTORY_OPTIONS", "with_options"]

FACTORY_OPTIONS: Final = ("requires_grad", "pin_memory")


def with_options(result: Any, options: Mapping[str, Any]) -> Any:
    """Return the tensor that a factory made, as its options want it."""
    if options.get("pin_memory"):
        result = result.pin_memory()
    if options.get("requires_grad"):
        result.requires_grad_(True)
    return result
