"""Scenarios of `__tt_function__` that also run with `__torch_function__`, where PyTorch is installed."""

from __future__ import annotations

import pytest

import tt
from tt.core.methods.tt_function_api import TTFunctionMode

# What each library says when all have returned NotImplemented.
DECLINED = r"no implementation found|Multiple dispatch failed"


class Library:
    """One of the libraries, under common names; classes of "tt as torch" have methods with PyTorch's names."""

    def __init__(self, name):
        if name == "tt":
            self.module, self.protocol = tt, "__tt_function__"
            self.Mode, self.Disable = TTFunctionMode, tt.DisableTTFunctionSubclass
            self.disabled = tt.overrides.disabled_tt_function_impl
        elif name == "tt as torch":
            self.module, self.protocol = tt, "__torch_function__"
            self.Mode, self.Disable = tt.overrides.TorchFunctionMode, tt.DisableTorchFunctionSubclass
            self.disabled = tt.overrides.disabled_tt_function_impl
        else:
            torch = pytest.importorskip("torch")
            from torch.overrides import TorchFunctionMode

            self.module, self.protocol = torch, "__torch_function__"
            self.Mode, self.Disable = TorchFunctionMode, torch._C.DisableTorchFunctionSubclass
            self.disabled = torch._C._disabled_torch_function_impl
        self.Tensor = self.module.Tensor

    def duck(self, name, log, answer=None, bases=(object,)):
        """Return a class that logs its calls; without an answer it declines."""

        def asked(cls, func, types, args=(), kwargs=None):
            log.append((cls.__name__, func.__name__, [t.__name__ for t in types], len(args), kwargs or {}))
            return NotImplemented if answer is None else answer

        return type(name, bases, {self.protocol: classmethod(asked)})

    def mode(self, name, log, answer=None):
        """Return a mode that logs and goes on, or answers."""

        def asked(this, func, types, args=(), kwargs=None):
            log.append((name, func.__name__, [t.__name__ for t in types]))
            return func(*args, **(kwargs or {})) if answer is None else answer

        return type(name, (self.Mode,), {self.protocol: asked})()

    def subclass(self, name, log=None, bases=None):
        """Return a subclass of Tensor that logs and goes on."""
        body = {}
        if log is not None:

            def asked(cls, func, types, args=(), kwargs=None):
                log.append((name, func.__name__, [t.__name__ for t in types]))
                return getattr(super(made, cls), self.protocol)(func, types, args, kwargs)

            body[self.protocol] = classmethod(asked)
        made = type(name, bases or (self.Tensor,), body)
        return made


def in_both(scenario):
    """Return the results of a scenario in tt and in PyTorch; skip without PyTorch."""
    pytest.importorskip("torch")
    return scenario(Library("tt")), scenario(Library("torch"))


def agree(scenario):
    """Run a scenario in both libraries, in tt with both names of the protocol, and return the common result."""
    ours, theirs = in_both(scenario)
    assert ours == theirs
    assert scenario(Library("tt as torch")) == ours
    assert ours, "the scenario has seen nothing"
    return ours


class Duck:
    """Answers every call with the call itself."""

    @classmethod
    def __tt_function__(cls, func, types, args=(), kwargs=None):
        return func
