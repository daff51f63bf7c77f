"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.jacobians import hessian as hessian
    from tt.plugins.autograd.jacobians import hvp as hvp
    from tt.plugins.autograd.jacobians import jacobian as jacobian
    from tt.plugins.autograd.jacobians import jvp as jvp
    from tt.plugins.autograd.jacobians import vhp as vhp
    from tt.plugins.autograd.jacobians import vjp as vjp

_SOURCES = {
    "hessian": "tt.plugins.autograd.jacobians",
    "hvp": "tt.plugins.autograd.jacobians",
    "jacobian": "tt.plugins.autograd.jacobians",
    "jvp": "tt.plugins.autograd.jacobians",
    "vhp": "tt.plugins.autograd.jacobians",
    "vjp": "tt.plugins.autograd.jacobians",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.functional", _SOURCES, layer="autograd")
