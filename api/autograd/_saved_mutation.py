"""`allow_mutation_on_saved_tensors`: tensors that backward needs may be changed in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tt.autograd.graph import saved_tensors_hooks
from tt.library import Carried

__all__ = ["allow_mutation_on_saved_tensors"]

_open = Carried()
"""Whether this thread is in a block."""


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Let tensors be changed in place although backward needs their values: it keeps copies of them.

    Each tensor that is saved is copied, whether or not it is changed later.

    Raises
    ------
    RuntimeError
        If a block of it is open in this thread.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y**2).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if getattr(_open, "block", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested: one is open already")
    _open.block = True
    try:
        with saved_tensors_hooks(lambda tensor: tensor.clone(), lambda kept: kept):
            yield
    finally:
        _open.block = False
