"""functorch: the package that was merged into `torch.func`, over the same functions."""

from __future__ import annotations

from tt.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
