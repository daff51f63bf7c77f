"""Operators from their parts, for opcheck to find fault with."""

from __future__ import annotations

import itertools

import tt
from tt.library import custom_op

X = tt.tensor([[0.5, -1.5, 2.0], [1.0, 0.25, -3.0]])
COUNT = itertools.count()


def name():
    """Return a name that no operator has."""
    return f"faulty::op{next(COUNT)}"


class Made:
    """An operator from its parts; every part that is not given is right for "twice"."""

    def __init__(
        self, schema="(Tensor x) -> Tensor", kernel=lambda x: x + x, *, fake=lambda x: tt.empty_like(x),
        backward=lambda ctx, g: 2 * g, save=None, composite=None, dtypes="floating", result="same", tags=(),
    ):  # fmt: skip
        self.op = custom_op(name(), _declares, schema=schema, result=result, tags=tags)
        if kernel is not None:
            self.op.kernel("cpu", kernel, dtypes=dtypes)
        if composite is not None:
            self.op.composite(composite)
        if fake is not None:
            self.op.fake(fake)
        if save is not None:
            self.op.setup_context(save)
        if backward is not None:
            self.op.backward(backward)

    def __enter__(self):
        return self.op

    def __exit__(self, *exception):
        self.op.remove()


def _declares(): ...


FAULTY = {}


def faulty(fault, *args):
    """Register what makes an operator with a fault, and the arguments on which it shows."""

    def add(make):
        FAULTY[make.__name__] = (fault, make, args or (X,))
        return make

    return add
