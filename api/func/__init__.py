"""Function transforms: `vmap`, and derivatives that nest with it in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.func.batch_norm import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
    from tt.func.functionalization import functionalize as functionalize
    from tt.func.rearrangement import rearrange as rearrange
    from tt.func.stateless import functional_call as functional_call
    from tt.func.stateless import stack_module_state as stack_module_state
    from tt.plugins.autograd.transforms.functional import grad as grad
    from tt.plugins.autograd.transforms.functional import grad_and_value as grad_and_value
    from tt.plugins.autograd.transforms.functional import vmap as vmap
    from tt.plugins.autograd.transforms.jacobians import hessian as hessian
    from tt.plugins.autograd.transforms.jacobians import jacfwd as jacfwd
    from tt.plugins.autograd.transforms.jacobians import jacrev as jacrev
    from tt.plugins.autograd.transforms.jacobians import jvp as jvp
    from tt.plugins.autograd.transforms.jacobians import linearize as linearize
    from tt.plugins.autograd.transforms.jacobians import vjp as vjp

_SOURCES = {
    "functional_call": "tt.func.stateless",
    "functionalize": "tt.func.functionalization",
    "grad": "tt.plugins.autograd.transforms.functional",
    "grad_and_value": "tt.plugins.autograd.transforms.functional",
    "hessian": "tt.plugins.autograd.transforms.jacobians",
    "jacfwd": "tt.plugins.autograd.transforms.jacobians",
    "jacrev": "tt.plugins.autograd.transforms.jacobians",
    "jvp": "tt.plugins.autograd.transforms.jacobians",
    "linearize": "tt.plugins.autograd.transforms.jacobians",
    "rearrange": "tt.func.rearrangement",
    "replace_all_batch_norm_modules_": "tt.func.batch_norm",
    "stack_module_state": "tt.func.stateless",
    "vjp": "tt.plugins.autograd.transforms.jacobians",
    "vmap": "tt.plugins.autograd.transforms.functional",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names(
    "tt.func",
    _SOURCES,
    layer="transform",
    without=("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"),
)
