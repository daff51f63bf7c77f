"""Differentiation: `backward`, `grad`, switching recording on and off, checks of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt.core.testing.gradcheck import gradcheck as gradcheck
    from tt.core.testing.gradcheck import gradgradcheck as gradgradcheck
    from tt.plugins.autograd.formulas.table import Formulas as Formulas
    from tt.plugins.autograd.functional import backward as backward
    from tt.plugins.autograd.functional import grad as grad
    from tt.plugins.autograd.graph import Node as Node
    from tt.plugins.autograd.modes import enable_grad as enable_grad
    from tt.plugins.autograd.modes import is_grad_enabled as is_grad_enabled
    from tt.plugins.autograd.modes import no_grad as no_grad
    from tt.plugins.autograd.modes import set_grad_enabled as set_grad_enabled

_SOURCES = {
    "Formulas": "tt.plugins.autograd.formulas.table",
    "Node": "tt.plugins.autograd.graph",
    "backward": "tt.plugins.autograd.functional",
    "enable_grad": "tt.plugins.autograd.modes",
    "grad": "tt.plugins.autograd.functional",
    "gradcheck": "tt.core.testing.gradcheck",
    "gradgradcheck": "tt.core.testing.gradcheck",
    "is_grad_enabled": "tt.plugins.autograd.modes",
    "no_grad": "tt.plugins.autograd.modes",
    "set_grad_enabled": "tt.plugins.autograd.modes",
}

__all__ = list(_SOURCES)


def __getattr__(name: str) -> Any:
    source = _SOURCES.get(name)
    if source is None:
        raise AttributeError(f"module 'tt.autograd' has no attribute {name!r}")
    from importlib import import_module

    from tt.core import host

    host.require("layer", "autograd")
    host.activate("layer", "autograd")
    found = getattr(import_module(source), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
