"""What every factory takes beside the arguments of its schema, because it is done to the tensor that was made."""

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
