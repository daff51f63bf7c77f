"""Mistakes with forward mode and `tt.func`."""

from __future__ import annotations

MISTAKES: list[tuple[str, str, str | None]] = [
    (
        "make dual outside",
        "lib.autograd.forward_ad.make_dual(lib.ones(2), lib.ones(2))",
        "make_dual(): no level of forward mode is open",
    ),
    (
        "make dual shape",
        """
        with lib.autograd.forward_ad.dual_level():
            lib.autograd.forward_ad.make_dual(lib.ones(2), lib.ones(3))
        """,
        "make_dual: the tangent has shape [3], and the tensor [2]",
    ),
    (
        "make dual int",
        """
        with lib.autograd.forward_ad.dual_level():
            lib.autograd.forward_ad.make_dual(lib.ones(2, dtype=lib.int64), lib.ones(2))
        """,
        "make_dual(): tensor has tt.int64, which has no derivative",
    ),
    (
        "exit level",
        "lib.autograd.forward_ad.exit_dual_level()",
        "exit_dual_level(): no level of forward mode is open",
    ),
    (
        "vmap requires",
        "lib.func.vmap(lambda a: a.requires_grad_())(lib.ones(2))",
        "requires_grad_() is called inside of a function that tt.func transforms: use",
    ),
    (
        "vmap backward",
        "lib.func.vmap(lambda a: (a * 2).backward())(leaf())",
        "backward() is called inside of a function that tt.func transforms: use tt.func.grad or",
    ),
    (
        "vmap grad",
        "lib.func.vmap(lambda a: lib.autograd.grad(a * 2, a))(leaf())",
        "a tensor that vmap maps over has no history of its own: there is one graph for all",
    ),
    (
        "fgrad requires",
        "lib.func.grad(lambda a: a.requires_grad_().sum())(lib.ones(2))",
        "requires_grad_() is called inside of a function that tt.func transforms: use",
    ),
    (
        "fgrad setattr",
        """
        def f(a):
            a.requires_grad = True
            return a.sum()
        lib.func.grad(f)(lib.ones(2))
        """,
        None,
    ),
    (
        "fgrad backward",
        """
        def f(a):
            (a * a).sum().backward()
            return a.sum()
        lib.func.grad(f)(lib.ones(2))
        """,
        "backward() is called inside of a function that tt.func transforms: use tt.func.grad or",
    ),
    (
        "fgrad fresh",
        "lib.func.grad(lambda a: (a * lib.ones(2).requires_grad_()).sum())(lib.ones(2))",
        "requires_grad_() is called inside of a function that tt.func transforms: use",
    ),
    (
        "jvp requires",
        "lib.func.jvp(lambda a: a.requires_grad_(), (lib.ones(2),), (lib.ones(2),))",
        "requires_grad_() is called inside of a function that tt.func transforms: use",
    ),
    (
        "vmap item",
        "lib.func.vmap(lambda a: a.item())(lib.ones(2))",
        "vmap: item() gives a Python value, and there would be another one for each example",
    ),
    (
        "vmap if",
        "lib.func.vmap(lambda a: 1 if a > 0 else 2)(lib.ones(2))",
        "vmap: item() gives a Python value, and there would be another one for each example",
    ),
    (
        "grad nonscalar",
        "lib.func.grad(lambda a: a)(lib.ones(2))",
        "grad: the function must return a scalar, got a tensor of shape [2]",
    ),
    (
        "grad int",
        "lib.func.grad(lambda a: a.sum())(lib.ones(2, dtype=lib.int64))",
        "floating point and complex tensors can require gradients, int64 cannot",
    ),
    (
        "grad nontensor",
        "lib.func.grad(lambda a: 1)(lib.ones(2))",
        "grad: the function must return a Tensor, got int",
    ),
    (
        "vmap out",
        "lib.func.vmap(lambda a: 1)(lib.ones(2))",
        "vmap: the function must return only Tensors, got int",
    ),
    (
        "functional strict",
        "lib.autograd.functional.jacobian(lambda x: lib.ones(2), lib.ones(2), strict=True)",
        "jacobian: a result does not depend on the inputs, and strict=True",
    ),
]
