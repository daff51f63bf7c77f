"""Function transforms: `vmap`, and derivatives that nest with it in any order."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.func.batch_norm": "replace_all_batch_norm_modules_",
        "tt.func.functionalization": "functionalize",
        "tt.func.rearrangement": "rearrange",
        "tt.func.stateless": "functional_call stack_module_state",
        "tt.plugins.autograd.transforms.functional": "grad grad_and_value vmap",
        "tt.plugins.autograd.transforms.jacobians": "hessian jacfwd jacrev jvp linearize vjp",
    },
    layer="transform",
    without="functional_call replace_all_batch_norm_modules_ stack_module_state",
)
