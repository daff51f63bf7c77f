"""tt.utils._contextlib: context managers that decorate functions, too."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs another within a context.

    Parameters
    ----------
    ctx : context manager, or callable that returns one
        The context; a callable gives one for each call.
    func : callable
        The function.  A generator runs within the context at each step, and outside of it between them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils._contextlib import context_decorator
    >>> context_decorator(tt.no_grad, lambda x: (2 * x).requires_grad)(tt.ones(1, requires_grad=True))
    False
    """
    enter: Callable[[], Any] = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx
    if inspect.isclass(ctx):
        enter = ctx
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            steps = func(*args, **kwargs)
            try:
                with enter():
                    value = next(steps)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with enter():
                            steps.close()
                        raise
                    except BaseException as error:
                        with enter():
                            value = steps.throw(error)
                    else:
                        with enter():
                            value = steps.send(sent)
            except StopIteration as stop:
                return stop.value

        return generator

    @functools.wraps(func)
    def function(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return func(*args, **kwargs)

    return function


class _DecoratorContextManager:
    """A context manager whose objects decorate functions: each call runs within a copy of the object, `clone()`."""

    def __call__(self, orig_func: Any) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Return an object like this one; a class with arguments overrides it."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that also decorates without brackets: `@no_grad`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
