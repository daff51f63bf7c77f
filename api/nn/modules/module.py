"""Module: the base class of all parts of a neural network."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Self

import tt
from tt.library import warn_user
from tt.nn.modules import hooks
from tt.nn.modules.calling import GLOBAL_HOOKS
from tt.nn.modules.hooks import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from tt.nn.modules.registration import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from tt.nn.modules.state_dict import StateDict
from tt.nn.modules.state_dict import _IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def _addindent(text: str, spaces: int) -> str:
    """Return a text whose lines, except for the first, are indented."""
    return text.replace("\n", "\n" + " " * spaces)


class Module(StateDict):
    """The base class of all parts of a neural network.

    A subclass makes its parameters and submodules in `__init__`, after `super().__init__()`, by assigning them to
    attributes, and computes in `forward`.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode.

    Examples
    --------
    >>> import tt
    >>> from tt import nn
    >>> class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = nn.Linear(2, 1)
    ...
    ...     def forward(self, x):
    ...         return self.inner(x).relu()
    >>> Model()
    Model(
      (inner): Linear(in_features=2, out_features=1, bias=True)
    )
    >>> Model()(tt.zeros(3, 2)).shape
    tt.Size([3, 1])
    """

    dump_patches: bool = False

    def forward(self, *input: Any) -> Any:
        """Compute the module's output; every subclass overrides it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call a function with each submodule and then with this module.

        Parameters
        ----------
        fn : callable
            For instance one that initialises parameters.

        Examples
        --------
        >>> import tt
        >>> @tt.no_grad()
        ... def fill(module):
        ...     if type(module) is tt.nn.Linear:
        ...         _ = module.weight.fill_(1.0)
        >>> tt.nn.Sequential(tt.nn.Linear(1, 1)).apply(fill)[0].weight.item()
        1.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and those below it into training mode, or into evaluation mode.

        Parameters
        ----------
        mode : bool
            True for training.

        Raises
        ------
        ValueError
            If the mode is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is expected to be boolean, got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set this module and those below it into evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set for all parameters whether autograd records operations on them."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Parameters
        ----------
        set_to_none : bool
            Whether they become None; otherwise they become zero.
        """
        if self.__dict__.get("_is_replica"):
            warn_user(
                "zero_grad(): the parameters of a replica of DataParallel are copies that have no .grad\n"
                "  try: zero_grad() of the module that was replicated, or tt.autograd.grad in forward"
            )
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def extra_repr(self) -> str:
        """Return what `repr` shows of this module besides its name and submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)" if body else f"{self._get_name()}()"

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do what `tt.compile` does: nothing with `disable=True`, and raise without it."""
        tt.compile(self, *args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def _replicate_for_data_parallel(self) -> Self:
        """Return a shallow copy with tables of its own, for another device."""
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__)
        for table in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[table] = {} if table == "_parameters" else dict(self.__dict__[table])
        replica.__dict__["_is_replica"] = True
        return replica


class _TablesOfHooks(ModuleType):
    """The class of this module: programs find the tables of global hooks here, and replace them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_global_"):
            return getattr(hooks, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_global_"):
            GLOBAL_HOOKS[:] = [True]  # the next call of a module sees whether there are any
            setattr(hooks, name, value)
        else:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _TablesOfHooks
