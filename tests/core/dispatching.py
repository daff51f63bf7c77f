"""`__tt_dispatch__` and `__torch_dispatch__` under common names, for tests of both side by side."""

from __future__ import annotations

import pytest

import tt
from tt.library import TTDispatchMode
from tt.utils._pytree import tree_map, tree_map_only

# What each library says when all have returned NotImplemented.
DECLINED = r"no implementation found|Multiple dispatch failed"


class Library:
    """One of the libraries, under common names; classes of "tt as torch" have methods with PyTorch's names."""

    def __init__(self, name):
        if name == "tt":
            self.module, self.protocol, self.function = tt, "__tt_dispatch__", "__tt_function__"
            self.Mode, self.disabled = TTDispatchMode, tt.overrides.disabled_tt_function_impl
        elif name == "tt as torch":
            self.module, self.protocol, self.function = tt, "__torch_dispatch__", "__torch_function__"
            self.Mode = tt.utils._python_dispatch.TorchDispatchMode
            self.disabled = tt.overrides.disabled_tt_function_impl
        else:
            torch = pytest.importorskip("torch")
            from torch.utils._python_dispatch import TorchDispatchMode

            self.module, self.protocol, self.function = torch, "__torch_dispatch__", "__torch_function__"
            self.Mode, self.disabled = TorchDispatchMode, torch._C._disabled_torch_function_impl
        self.Tensor = self.module.Tensor

    def name(self, func):
        """Return the name of an operator as both libraries have it."""
        return func.name if self.module is tt else func.overloadpacket.__name__

    def mode(self, name, log, answer=None):
        def asked(this, func, types, args=(), kwargs=None):
            log.append((name, self.name(func), [t.__name__ for t in types], len(args), sorted(kwargs or {})))
            return func(*args, **(kwargs or {})) if answer is None else answer

        return type(name, (self.Mode,), {self.protocol: asked})()

    def wrapper(self, name, log=None, bases=None, declines=False, plain=()):
        """Return a class of tensors that hold another; results are wrapped, but those of the operators in `plain`."""

        def new(cls, inner, requires_grad=False):
            made = self.Tensor._make_wrapper_subclass(
                cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=requires_grad,
                strides=inner.stride(),
            )  # fmt: skip
            made.elem = inner
            return made

        def asked(cls, func, types, args=(), kwargs=None):
            if log is not None:
                log.append((cls.__name__, self.name(func), [t.__name__ for t in types]))
            if declines:
                return NotImplemented
            unwrap = lambda t: t.elem if hasattr(t, "elem") else t  # noqa: E731
            result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            if self.name(func) in plain:
                return result
            if self.name(func).endswith("_"):
                return args[0]
            return tree_map_only(self.Tensor, lambda t: t if hasattr(t, "elem") else cls(t), result)

        body = {"__new__": staticmethod(new), "__init__": lambda self, *args, **kwargs: None}
        body |= {self.protocol: classmethod(asked), self.function: self.disabled}
        return type(name, bases or (self.Tensor,), body)


def agree(scenario):
    """Run a scenario in both libraries, in tt with both names of the protocol, and return the common result."""
    pytest.importorskip("torch")
    ours, theirs = scenario(Library("tt")), scenario(Library("torch"))
    assert ours == theirs
    assert scenario(Library("tt as torch")) == ours
    assert ours, "the scenario has seen nothing"
    return ours


class Kept(tt.Tensor):
    """Holds a tensor; on module level, so that pickle finds it."""

    __slots__ = ("note",)

    @staticmethod
    def __new__(cls, inner, note="new"):
        made = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())
        made.inner, made.note = inner, note
        return made

    __tt_function__ = tt.overrides.disabled_tt_function_impl

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(t):
            return t.inner if isinstance(t, cls) else t

        found = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
        if func.name in ("item", "sum"):
            return found
        return tree_map_only(tt.Tensor, cls, found)
