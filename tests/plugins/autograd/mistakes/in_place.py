"""Mistakes with changes in place, views and inference tensors."""

from __future__ import annotations

MISTAKES: list[tuple[str, str, str | None]] = [
    (
        "leaf inplace",
        "leaf().add_(1)",
        "a leaf that requires a gradient is changed in place; do so under no_grad()",
    ),
    (
        "leaf view inplace",
        "leaf()[0].add_(1)",
        "a view of a leaf that requires a gradient is changed in place; do so under no_grad()",
    ),
    (
        "leaf inplace slice",
        "leaf()[0] = 5.0",
        "a view of a leaf that requires a gradient is changed in place; do so under no_grad()",
    ),
    (
        "leaf out",
        """
        a = leaf()
        lib.add(a, a, out=lib.zeros(3))
        """,
        "add(): out= is not differentiated, and an argument requires a gradient; call it without",
    ),
    (
        "version",
        """
        a = leaf()
        y = a.exp()
        y.mul_(2)
        y.sum().backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by ExpBackward0 at",
    ),
    (
        "version input",
        """
        a = leaf()
        b = a * 1
        y = b * b
        b.add_(1)
        y.sum().backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by MulBackward0 at",
    ),
    (
        "version view",
        """
        a = leaf()
        b = a * 1
        y = b * b
        b[0].add_(1)
        y.sum().backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by MulBackward0 at",
    ),
    (
        "version detach",
        """
        a = leaf()
        b = a * 1
        y = b * b
        b.detach().add_(1)
        y.sum().backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by MulBackward0 at",
    ),
    (
        "version data",
        """
        a = leaf()
        b = a * 1
        y = b * b
        b.data.add_(1)
        y.sum().backward()
        """,
        None,
    ),
    (
        "version leaf nograd",
        """
        a = leaf()
        y = a * a
        with lib.no_grad():
            a.add_(1)
        y.sum().backward()
        """,
        "a tensor that backward needs was changed in place: float32 [3], saved by MulBackward0 at",
    ),
    (
        "unbind inplace",
        """
        a = leaf() * 1
        u, v, w = a.unbind()
        u.add_(1)
        """,
        "a view is about to be changed in place: output 0 of UnbindBackward0 is one of several",
    ),
    (
        "split inplace",
        """
        a = leaf() * 1
        u = a.split(1)[0]
        u.mul_(2)
        """,
        "a view is about to be changed in place: output 0 of SplitBackward0 is one of several",
    ),
    (
        "chunk inplace",
        """
        a = leaf() * 1
        u = a.chunk(2)[0]
        u.mul_(2)
        """,
        "a view is about to be changed in place: output 0 of SplitBackward0 is one of several",
    ),
    (
        "unbind base changed",
        """
        a = leaf() * 1
        u = a.unbind()[0]
        a.mul_(2)
        u.sum().backward()
        """,
        "the memory of a view was changed in place: output 0 of UnbindBackward0 is one of several",
    ),
    (
        "unbind base changed then use",
        """
        a = leaf() * 1
        u = a.unbind()[0]
        a.mul_(2)
        found = u + 1
        """,
        "the memory of a view was changed in place: output 0 of UnbindBackward0 is one of several",
    ),
    (
        "unbind nograd inplace",
        """
        a = leaf() * 1
        with lib.no_grad():
            u = a.unbind()[0]
        u.mul_(2)
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "split under nograd leaf",
        """
        a = leaf()
        with lib.no_grad():
            u = a.split(1)[0]
        u.mul_(2)
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "nograd view inplace plain",
        """
        a = leaf() * 1
        with lib.no_grad():
            v = a[0]
        v.mul_(2)
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "nograd view inplace grad",
        """
        a = leaf() * 1
        with lib.no_grad():
            v = a[0]
        v.mul_(leaf(1.0)[0])
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "nograd view of leaf",
        """
        a = leaf()
        with lib.no_grad():
            v = a[0]
        v.mul_(2)
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "nograd view of leaf grad",
        """
        a = leaf()
        with lib.no_grad():
            v = a[0]
        v.mul_(leaf(1.0)[0])
        """,
        "a view is about to be changed in place: it was made under no_grad, so it is undefined whether",
    ),
    (
        "nograd view inplace in nograd",
        """
        a = leaf() * 1
        with lib.no_grad():
            v = a[0]
            v.mul_(2)
        """,
        None,
    ),
    (
        "inference view",
        """
        with lib.inference_mode():
            a = lib.ones(3)
        a.add_(1)
        """,
        "add: a tensor made in inference mode is changed outside of it",
    ),
    (
        "inference saved",
        """
        with lib.inference_mode():
            a = lib.ones(3)
        leaf() * a
        """,
        "MulBackward0 would save a tensor that was made in inference mode for the backward pass",
    ),
    (
        "inference requires",
        """
        with lib.inference_mode():
            a = lib.ones(3)
        a.requires_grad_()
        """,
        "a tensor made in inference mode cannot require a gradient outside of it",
    ),
    (
        "inference setattr",
        """
        with lib.inference_mode():
            a = lib.ones(3)
        a.requires_grad = True
        """,
        "a tensor made in inference mode cannot require a gradient outside of it",
    ),
    (
        "inference view of normal",
        """
        a = leaf() * 1
        with lib.inference_mode():
            v = a[0]
        v.add_(1)
        """,
        "a view is about to be changed in place: it was made under inference_mode, so it is undefined",
    ),
    (
        "inference inplace on normal leaf",
        """
        a = leaf()
        with lib.inference_mode():
            a.add_(1)
        """,
        None,
    ),
    (
        "inference backward",
        """
        a = leaf()
        y = (a * a).sum()
        with lib.inference_mode():
            y.backward()
        """,
        None,
    ),
    (
        "detach inplace view",
        "(leaf() * 1)[0].detach_()",
        "a view of a tensor with a history always has one: use detach() in place of detach_()",
    ),
    (
        "detach inplace nonview",
        "found = (leaf() * 1).detach_().requires_grad",
        None,
    ),
    (
        "resize requires",
        "leaf().resize_(2)",
        "a tensor that requires a gradient is not resized",
    ),
    (
        "expanded inplace",
        "(leaf(1.0) * 1).expand(3).add_(1)",
        "add_(): several elements of the tensor that is written to are one in memory",
    ),
]

# What one library refuses and the other does not, as docs/differences.md tells.
DIFFERENT: list[tuple[str, str, str | None]] = [
    (
        "nograd view of plain",
        """
        a = lib.ones(3)
        with lib.no_grad():
            v = a[0]
        v.mul_(leaf(1.0)[0])
        found = a.requires_grad
        """,
        None,
    ),
    (
        "inference version",
        """
        with lib.inference_mode():
            a = lib.ones(3)
        a._version
        """,
        None,
    ),
]
