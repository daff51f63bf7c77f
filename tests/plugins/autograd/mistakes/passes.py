"""Mistakes with backward passes, their arguments, and what may require a gradient."""

from __future__ import annotations

MISTAKES: list[tuple[str, str, str | None]] = [
    (
        "second backward",
        """
        a = leaf()
        y = (a * a).sum()
        y.backward()
        y.backward()
        """,
        "the tensors that this graph had saved are gone: a backward frees them. Specify retain_graph=True",
    ),
    (
        "second backward no saved",
        """
        a = leaf()
        y = (a + a).sum()
        y.backward()
        y.backward()
        """,
        None,
    ),
    (
        "grad shape",
        """
        a = leaf()
        (a * 2).backward(lib.ones(2))
        """,
        "Mismatch in shape: grad_output[0] has a shape of tt.Size([2]) and output[0] has a shape of tt.Size([3]).",
    ),
    (
        "grad shape broadcast",
        """
        a = leaf()
        (a * 2).backward(lib.ones(1))
        """,
        "Mismatch in shape: grad_output[0] has a shape of tt.Size([1]) and output[0] has a shape of tt.Size([3]).",
    ),
    (
        "grad dtype complex",
        """
        a = leaf()
        (a * 2).backward(lib.ones(3, dtype=lib.complex64))
        """,
        "gradient 0 has dtype tt.complex64, and its output tt.float32: both are complex, or neither",
    ),
    (
        "grad dtype int",
        """
        a = leaf()
        (a * 2).backward(lib.ones(3, dtype=lib.int64))
        """,
        None,
    ),
    (
        "grad not tensor",
        """
        a = leaf()
        (a * 2).backward(1.0)
        """,
        "'float' object is not iterable",
    ),
    (
        "nonscalar",
        """
        a = leaf()
        (a * 2).backward()
        """,
        "an output of shape [3] needs a gradient to start from; only one of one element starts",
    ),
    (
        "complex scalar",
        """
        a = leaf()
        (a * 2j).sum().backward()
        """,
        "an output of tt.complex64 needs a gradient to start from; only a real one starts with 1",
    ),
    (
        "no history",
        "lib.ones(1).backward()",
        "tensor 0 has no history to differentiate: nothing that it came from requires a gradient",
    ),
    (
        "empty backward",
        "lib.autograd.backward([])",
        None,
    ),
    (
        "requires grad int",
        "lib.ones(2, dtype=lib.int64).requires_grad_()",
        "floating point and complex tensors can require gradients, int64 cannot",
    ),
    (
        "requires grad int ctor",
        "lib.tensor([1, 2], requires_grad=True)",
        "floating point and complex tensors can require gradients, int64 cannot",
    ),
    (
        "requires grad nonleaf off",
        "(leaf() * 1).requires_grad_(False)",
        "requires_grad is changed on leaves only; of a computed tensor, detach() gives one without",
    ),
    (
        "requires grad nonleaf set",
        "(leaf() * 1).requires_grad = False",
        "requires_grad is changed on leaves only; of a computed tensor, detach() gives one without",
    ),
    (
        "requires grad wrong",
        "lib.ones(2).requires_grad = 1",
        "requires_grad must be a bool, not int",
    ),
    (
        "set grad type",
        "leaf().grad = 1",
        ".grad is a tensor or None, not int",
    ),
    (
        "set grad shape",
        "leaf().grad = lib.ones(2)",
        ".grad of a tensor of shape [3] has the same shape, not [2]",
    ),
    (
        "set grad dtype",
        "leaf().grad = lib.ones(3, dtype=lib.float64)",
        ".grad of a tensor of float32 has the same dtype, not float64",
    ),
    (
        "set grad self",
        """
        a = leaf()
        a.grad = a
        """,
        "a tensor is not its own .grad",
    ),
    (
        "numpy requires",
        "leaf().numpy()",
        "numpy() of a tensor that requires a gradient would lose it; call tensor.detach().numpy()",
    ),
    (
        "deepcopy nonleaf",
        """
        import copy
        copy.deepcopy(leaf() * 1)
        """,
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
    ),
    (
        "item ok",
        "found = leaf(1.0).item()",
        None,
    ),
    (
        "unused",
        """
        a = leaf()
        b = leaf()
        lib.autograd.grad(a.sum(), b)
        """,
        "the outputs do not depend on input 0; with allow_unused=True its gradient is None",
    ),
    (
        "unused int",
        """
        a = leaf()
        lib.autograd.grad(a.sum(), lib.ones(2))
        """,
        "one of the inputs does not require a gradient; call its requires_grad_() before it is used",
    ),
    (
        "grad inputs empty",
        """
        a = leaf()
        lib.autograd.grad(a.sum(), [])
        """,
        "grad(): inputs is empty: there is nothing to differentiate by",
    ),
    (
        "backward inputs empty",
        """
        a = leaf()
        a.sum().backward(inputs=[])
        """,
        "backward(): inputs is empty; leave it out to reach all leaves",
    ),
    (
        "backward inputs nonleaf",
        """
        a = leaf()
        b = a * 2
        b.sum().backward(inputs=[b])
        found = str(b.grad)
        """,
        None,
    ),
    (
        "materialize conflict",
        """
        a = leaf()
        b = leaf()
        lib.autograd.grad(a.sum(), b, materialize_grads=True, allow_unused=False)
        """,
        "grad(): Expected allow_unused to be True or not passed when materialize_grads=True, but",
    ),
    (
        "batched shape",
        """
        a = leaf()
        lib.autograd.grad(a * 2, a, lib.ones(3), is_grads_batched=True)
        """,
        "Mismatch in shape: grad_output[0] has a shape of tt.Size([]) and output[0] has a shape of tt.Size([3]).",
    ),
    (
        "set data wrong",
        "leaf().data = 5",
        "data must be set to a Tensor, not int",
    ),
]

# What one library refuses and the other does not, as docs/differences.md tells.
DIFFERENT: list[tuple[str, str, str | None]] = [
    (
        "too many grads",
        """
        a = leaf()
        lib.autograd.backward([(a * 2).sum()], [None, None])
        """,
        "got 1 tensors and 2 gradients; there must be one gradient for each tensor",
    ),
]
