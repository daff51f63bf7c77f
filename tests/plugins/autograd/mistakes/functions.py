"""Mistakes with `autograd.Function`."""

from __future__ import annotations

MISTAKES: list[tuple[str, str, str | None]] = [
    (
        "fn count",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: (g, g))
        f.apply(leaf()).sum().backward()
        """,
        "FnBackward must return 1 gradients, one for each argument of forward, and it returned 2",
    ),
    (
        "fn count none",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: (g, None))
        f.apply(leaf()).sum().backward()
        """,
        None,
    ),
    (
        "fn few",
        """
        f = function(forward=lambda ctx, x, y: x * y, backward=lambda ctx, g: g)
        f.apply(leaf(), leaf()).sum().backward()
        """,
        "FnBackward must return 2 gradients, one for each argument of forward, and it returned 1",
    ),
    (
        "fn shape",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: lib.ones(2))
        f.apply(leaf()).sum().backward()
        """,
        "gradient 0 of FnBackward has shape [2], which does not fit its input of shape [3]",
    ),
    (
        "fn type",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: 1)
        f.apply(leaf()).sum().backward()
        """,
        "gradient 0 of FnBackward is a tensor or None, not int",
    ),
    (
        "fn none",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: None)
        a = leaf()
        f.apply(a).sum().backward()
        found = a.grad
        """,
        None,
    ),
    (
        "fn no backward",
        """
        f = function(forward=lambda ctx, x: x * 2)
        f.apply(leaf()).sum().backward()
        """,
        "a Function needs a static method backward(ctx, *gradients), or vjp, to be differentiated",
    ),
    (
        "fn no forward",
        """
        f = function(backward=lambda ctx, g: g)
        f.apply(leaf())
        """,
        "a Function needs a static method forward(ctx, *args)",
    ),
    (
        "fn forward not tensor",
        """
        f = function(forward=lambda ctx, x: 3, backward=lambda ctx, g: g)
        found = f.apply(leaf())
        """,
        None,
    ),
    (
        "fn save nontensor",
        """
        f = function(forward=lambda ctx, x: (ctx.save_for_backward(1), x * 2)[1], backward=lambda ctx, g: g)
        f.apply(leaf())
        """,
        "save_for_backward(): argument 0 is int: only tensors and None are saved",
    ),
    (
        "fn save twice backward",
        """
        f = function(
            forward=lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
            backward=lambda ctx, g: g * ctx.saved_tensors[0],
        )
        y = f.apply(leaf()).sum()
        y.backward()
        y.backward()
        """,
        "the tensors that this graph had saved are gone: a backward frees them. Specify retain_graph=True",
    ),
    (
        "fn save modified",
        """
        f = function(
            forward=lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
            backward=lambda ctx, g: g * ctx.saved_tensors[0],
        )
        a = leaf()
        b = a * 1
        y = f.apply(b).sum()
        b.add_(1)
        y.backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by FnBackward at",
    ),
    (
        "fn dirty leaf",
        """
        f = function(forward=lambda ctx, x: (ctx.mark_dirty(x), x.add_(1))[1], backward=lambda ctx, g: g)
        f.apply(leaf())
        """,
        "a leaf that requires a gradient is changed in place; do so under no_grad()",
    ),
    (
        "fn dirty not returned",
        """
        f = function(forward=lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1], backward=lambda ctx, g: g)
        a = leaf() * 1
        f.apply(a)
        """,
        "FnBackward: forward must return the arguments that it marks as dirty, and argument 0 of mark_dirty() is",
    ),
    (
        "fn dirty view",
        """
        f = function(forward=lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], backward=lambda ctx, g: g * 2)
        a = leaf()
        b = a * 1
        f.apply(b[0])
        b.sum().backward()
        found = a.grad.tolist()
        """,
        None,
    ),
    (
        "fn nondiff bad",
        """
        f = function(forward=lambda ctx, x: (ctx.mark_non_differentiable(1), x * 2)[1], backward=lambda ctx, g: g)
        f.apply(leaf())
        """,
        "mark_non_differentiable() takes results that are tensors, and argument 0 is int",
    ),
    (
        "fn once2",
        """
        def bw(ctx, g):
            return g * ctx.saved_tensors[0]
        f = function(
            forward=lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
            backward=lib.autograd.function.once_differentiable(bw),
        )
        a = leaf()
        b = f.apply(a * 1)
        g, = lib.autograd.grad((b * b).sum(), a, create_graph=True)
        g.sum().backward()
        """,
        "a backward marked with @once_differentiable was differentiated",
    ),
    (
        "fn setup ctx forward",
        """
        f = function(forward=lambda x: x * 2, setup_context=lambda ctx, i, o: 5, backward=lambda ctx, g: g)
        f.apply(leaf())
        """,
        None,
    ),
    (
        "fn jvp missing",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g)
        with lib.autograd.forward_ad.dual_level():
            f.apply(lib.autograd.forward_ad.make_dual(lib.ones(2), lib.ones(2)))
        """,
        "a Function needs a static method jvp(ctx, *tangents) for forward mode",
    ),
    (
        "fn inplace backward grad",
        """
        f = function(forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g.mul_(2))
        a = leaf()
        f.apply(a).sum().backward()
        found = a.grad.tolist()
        """,
        "mul_(): several elements of the tensor that is written to are one in memory",
    ),
]

# What one library refuses and the other does not, as docs/differences.md tells.
DIFFERENT: list[tuple[str, str, str | None]] = [
    (
        "fn dirty not input",
        """
        def fw(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y
        f = function(forward=fw, backward=lambda ctx, g: g)
        f.apply(leaf() * 1)
        """,
        "FnBackward: mark_dirty() takes arguments of forward, and its argument 0 is none",
    ),
]
