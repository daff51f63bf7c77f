"""tt.autograd.variable: `Variable`, which tensors have been since PyTorch 0.4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.autograd._passes import queue_callback
from tt.library import warn_user

__all__ = ["ImperativeEngine", "Variable", "VariableMeta"]


class VariableMeta(type):
    """The class of `Variable`: every tensor is an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return bool(tt.is_tensor(instance))

    def __call__(cls, data: object = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """Return a tensor over the same memory."""
        if data is None:
            data = tt.empty(0)
        if volatile:
            warn_user("Variable(): volatile has no effect\n  try: with tt.no_grad():")
        if not tt.is_tensor(data):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        variable = data.detach()
        return variable.requires_grad_() if requires_grad else variable


class ImperativeEngine:
    """What runs backward passes, as PyTorch's programs reach it: `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call a function when the backward pass that runs in this thread has computed all gradients.

        Functions are called in the order in which they were queued, those that they queue after them.  What one raises
        leaves the pass, and the rest is not called.

        Raises
        ------
        GradientError
            When no backward pass runs.
        ArgumentError
            For what cannot be called.

        Examples
        --------
        >>> import tt
        >>> from tt.autograd import Variable
        >>> x = tt.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda g: Variable._execution_engine.queue_callback(lambda: print("the end")))
        >>> (2 * x).sum().backward()
        the end
        """
        queue_callback(callback)


class Variable(metaclass=VariableMeta):
    """A tensor, in the words of old programs.

    Examples
    --------
    >>> import tt
    >>> from tt.autograd import Variable
    >>> x = Variable(tt.ones(2), requires_grad=True)
    >>> x.requires_grad, isinstance(tt.ones(1), Variable)
    (True, True)
    """

    _execution_engine = ImperativeEngine()
