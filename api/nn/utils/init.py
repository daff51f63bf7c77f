"""Modules without the initialisation of their parameters."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from tt.nn.modules.module import Module

__all__ = ["skip_init"]

M = TypeVar("M", bound=Module)


def skip_init(module_cls: type[M], *args: Any, **kwargs: Any) -> M:
    """Make a module whose parameters and buffers have memory and no values.

    It is made on the meta device first, where initialisation costs nothing.

    Parameters
    ----------
    module_cls : type
        A class of modules that takes `device`.
    *args, **kwargs
        Its arguments.

    Raises
    ------
    RuntimeError
        If it is not a class of modules, or takes no `device`.

    Examples
    --------
    >>> import tt
    >>> tt.nn.utils.skip_init(tt.nn.Linear, 5, 1)
    Linear(in_features=5, out_features=1, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"{module_cls.__name__} takes no device, and could not be made without memory")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=final)
