"""Composites of the copying forms of views, one for each that ops.yaml lists (`variants: [copy]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.registry.tables import CompositeTable

composites: Final = CompositeTable()
composite = composites.composite


def copied(found: Any) -> Any:
    """Return copies in row-major order of one view, or of several."""
    if isinstance(found, list | tuple):
        return [copied(view) for view in found]
    if found.layout.name != "strided":  # other layouts have no order in memory
        return ops.clone(found)
    return ops.clone(found, memory_format="contiguous_format")


def _copying(name: str) -> Callable[..., Any]:
    def copy(*args: Any) -> Any:
        packet, _, overload = name.partition(".")
        view = getattr(ops, packet)
        return copied(getattr(view, overload)(*args) if overload else getattr(view, "default", view)(*args))

    return copy


def _is_view(name: str) -> bool:
    return (
        name in REGISTRY.names() and REGISTRY.operator(name).definition.signature.returns[0].alias is not None
    )


for _name in tuple(REGISTRY.names()):
    _base, _, _overload = _name.partition(".")
    _view = _base.removesuffix("_copy") + (f".{_overload}" if _overload else "")
    if _view != _name and _is_view(_view):
        composite(_name, _copying(_view))
