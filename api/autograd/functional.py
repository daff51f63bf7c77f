"""Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.features.jacobians import hessian as hessian
    from tt.plugins.autograd.features.jacobians import hvp as hvp
    from tt.plugins.autograd.features.jacobians import jacobian as jacobian
    from tt.plugins.autograd.features.jacobians import jvp as jvp
    from tt.plugins.autograd.features.jacobians import vhp as vhp
    from tt.plugins.autograd.features.jacobians import vjp as vjp

_SOURCES = {
    "hessian": "tt.plugins.autograd.features.jacobians",
    "hvp": "tt.plugins.autograd.features.jacobians",
    "jacobian": "tt.plugins.autograd.features.jacobians",
    "jvp": "tt.plugins.autograd.features.jacobians",
    "vhp": "tt.plugins.autograd.features.jacobians",
    "vjp": "tt.plugins.autograd.features.jacobians",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.functional", _SOURCES, layer="autograd")
