"""torch._tensor: the class, and how subclasses are rebuilt from files."""

from __future__ import annotations

from typing import Any

from tt import Tensor

__all__ = ["Tensor"]


def _rebuild_from_type_v2(func: Any, new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    """Return a tensor of a subclass, made by a function and with its attributes, as files name it."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    if getattr(type(result), "__setstate__", Tensor.__setstate__) is not Tensor.__setstate__:
        result.__setstate__(state)
    elif isinstance(state, tuple):
        members, slots = state
        vars(result).update(members or {})
        for name, value in (slots or {}).items():
            setattr(result, name, value)
    elif state:
        vars(result).update(state)
    return result
