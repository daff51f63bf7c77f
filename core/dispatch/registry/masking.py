"""Masking kernels: doing as if they were not registered, to see what composites do in their place."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.types.state import STATE, changed

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition

__all__ = ["is_masked", "mask_kernels"]

NON_CORE = "@non-core"


def mask_kernels(*patterns: str) -> AbstractContextManager[None]:
    """Ignore the kernels of some operators inside a `with` block.

    Parameters
    ----------
    *patterns : str
        Operator names with `*` wildcards; "@non-core" masks every operator outside the core set that has a composite.

    Examples
    --------
    >>> import tt
    >>> with tt.mask_kernels("softmax"):
    ...     tt.softmax(tt.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return changed("masked", patterns, adds=True)


def is_masked(definition: OpDefinition) -> bool:
    """Return whether the kernels of an operator are ignored currently."""
    patterns = STATE.get("masked")
    if not patterns:
        return False
    name = definition.name
    for pattern in patterns:
        if pattern == NON_CORE:
            if not definition.core and REGISTRY.composite(name) is not None:
                return True
        elif fnmatchcase(name, pattern) or fnmatchcase(name.split(".")[0], pattern):
            return True
    return False
