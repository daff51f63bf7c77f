"""Mistakes with hooks, saved tensors and checkpoints."""

from __future__ import annotations

MISTAKES: list[tuple[str, str, str | None]] = [
    (
        "hook wrong type",
        """
        a = leaf()
        y = a * 1
        y.register_hook(lambda g: 1)
        y.sum().backward()
        """,
        "register_hook(): the gradient hook '<lambda>' must return a Tensor or None, not int",
    ),
    (
        "hook wrong shape",
        """
        a = leaf()
        y = a * 1
        y.register_hook(lambda g: lib.ones(2))
        y.sum().backward()
        """,
        "hook '<lambda>' has changed the size of value: from [3] to [2]",
    ),
    (
        "hook wrong dtype",
        """
        a = leaf()
        y = a * 1
        y.register_hook(lambda g: g.double())
        y.sum().backward()
        """,
        "hook '<lambda>' has changed the type of value: from tt.float32 on cpu to tt.float64 on cpu",
    ),
    (
        "hook leaf wrong shape",
        """
        a = leaf()
        a.register_hook(lambda g: lib.ones(2))
        a.sum().backward()
        """,
        "hook '<lambda>' has changed the size of value: from [3] to [2]",
    ),
    (
        "hook leaf wrong dtype",
        """
        a = leaf()
        a.register_hook(lambda g: g.double())
        a.sum().backward()
        found = str(a.grad.dtype)
        """,
        "hook '<lambda>' has changed the type of value: from tt.float32 on cpu to tt.float64 on cpu",
    ),
    (
        "hook on plain",
        "lib.ones(3).register_hook(lambda g: g)",
        "a hook is for a tensor that requires a gradient, and this one does not",
    ),
    (
        "hook raises",
        """
        a = leaf()
        a.register_hook(lambda g: 1 / 0)
        a.sum().backward()
        """,
        "division by zero",
    ),
    (
        "post hook nonleaf",
        "(leaf() * 1).register_post_accumulate_grad_hook(lambda t: None)",
        "only leaves accumulate a .grad; for other tensors there is register_hook()",
    ),
    (
        "post hook plain",
        "lib.ones(2).register_post_accumulate_grad_hook(lambda t: None)",
        "a hook is for a tensor that requires a gradient, and this one does not",
    ),
    (
        "post hook returns",
        """
        a = leaf()
        a.register_post_accumulate_grad_hook(lambda t: 5)
        a.sum().backward()
        """,
        "register_post_accumulate_grad_hook(): the hook '<lambda>' must return None: nothing is",
    ),
    (
        "node hook wrong count",
        """
        a = leaf()
        y = a * a
        y.grad_fn.register_hook(lambda i, o: (i[0],))
        y.sum().backward()
        """,
        "hook '<lambda>' has returned an incorrect number of values (got 1, but expected 2)",
    ),
    (
        "node hook wrong type",
        """
        a = leaf()
        y = a * a
        y.grad_fn.register_hook(lambda i, o: 5)
        y.sum().backward()
        """,
        "register_hook(): the hook '<lambda>' must return a tuple or None, not int",
    ),
    (
        "node prehook wrong",
        """
        a = leaf()
        y = a * a
        y.grad_fn.register_prehook(lambda o: (1, 2))
        y.sum().backward()
        """,
        "hook '<lambda>' has returned an incorrect number of values (got 2, but expected 1)",
    ),
    (
        "retain grad plain",
        "lib.ones(2).retain_grad()",
        "retain_grad(): the tensor does not require a gradient",
    ),
    (
        "saved hooks pack",
        """
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
            leaf().exp()
        """,
        "a pack hook changes the tensor that it is given in place, which the program still uses:",
    ),
    (
        "saved hooks unpack",
        """
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: 5):
            y = leaf().exp()
        y.sum().backward()
        """,
        "saved_tensors_hooks(): the unpack hook returns a tensor, not int",
    ),
    (
        "saved hooks disabled",
        """
        with lib.autograd.graph.disable_saved_tensors_hooks('no hooks here'):
            with lib.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass
        """,
        "no hooks here",
    ),
    (
        "saved access after",
        """
        y = leaf().exp()
        n = y.grad_fn
        y.sum().backward()
        n._saved_result
        """,
        "the tensors that this graph had saved are gone: a backward frees them. Specify retain_graph=True",
    ),
    (
        "saved raw register twice",
        """
        y = leaf().exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
        y.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
        """,
        "register_hooks(): this saved tensor has hooks already, and one pair is all that it can",
    ),
    (
        "anomaly nan",
        """
        with lib.autograd.detect_anomaly():
            lib.sqrt(leaf(-1.0)).sum().backward()
        """,
        "SqrtBackward0 made a NaN in its gradient 0",
    ),
    (
        "checkpoint mismatch",
        """
        st = [0]
        def f(x):
            st[0] += 1
            return x.exp() if st[0] == 1 else x.sin().exp()
        import importlib
        C = importlib.import_module(lib.__name__ + '.utils.checkpoint')
        C.checkpoint(f, leaf(), use_reentrant=False).sum().backward()
        """,
        None,
    ),
]
