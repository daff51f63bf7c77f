"""Operations with a custom gradient: `Function` and what belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.custom.function import Function as Function
    from tt.plugins.autograd.custom.function import FunctionCtx as FunctionCtx
    from tt.plugins.autograd.custom.function import InplaceFunction as InplaceFunction
    from tt.plugins.autograd.custom.function import once_differentiable as once_differentiable

_SOURCES = {
    "Function": "tt.plugins.autograd.custom.function",
    "FunctionCtx": "tt.plugins.autograd.custom.function",
    "InplaceFunction": "tt.plugins.autograd.custom.function",
    "once_differentiable": "tt.plugins.autograd.custom.function",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.function", _SOURCES, layer="autograd")
