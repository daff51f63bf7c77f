"""torch.ops: operators by namespace, whether or not there are any in it."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Any, Final

from tt._compat.torch.foreign_libraries import explanation
from tt.core import plugins
from tt.library import REGISTRY
from tt.library import ops as _ops

__all__ = ["ops"]


class OpNamespace(type(_ops)):  # type: ignore[misc]  # the class of `tt.ops`, which no module names publicly
    """The operators of a namespace; without any, each name is absent."""

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._namespace}' from 'torch.ops'>"


class _Prim(OpNamespace):
    """The few functions of TorchScript's that programs call."""

    def __getattr__(self, name: str) -> Any:
        if name == "device":
            return _PrimDevice()
        return super().__getattr__(name)


class _PrimDevice:
    """`torch.ops.prim.device`: the device of a tensor."""

    @property
    def default(self) -> _PrimDevice:
        """Itself: there is one overload."""
        return self

    def __call__(self, a: Any) -> Any:
        return a.device

    def __repr__(self) -> str:
        return "prim.device"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PrimDevice)

    def __hash__(self) -> int:
        return hash(_PrimDevice)


class TorchOps:
    """`torch.ops`: every name is a namespace, and one without operators has none.

    Attributes
    ----------
    loaded_libraries : set of str
        The paths of the libraries that `load_library` loaded.

    Examples
    --------
    >>> from tt._compat.torch.operators import ops
    >>> hasattr(ops.torchvision, "nms_of_nobody")
    False
    """

    def __init__(self) -> None:
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name != "aten":
            plugins().activate("namespace", name)
        namespace = (
            _ops.aten if name == "aten" else (_Prim if name == "prim" else OpNamespace)(REGISTRY, name)
        )
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a shared library, for what it does when it is loaded.

        Raises
        ------
        OSError
            If it cannot be loaded; of one that was built against libtorch the text says what it needs.

        Examples
        --------
        >>> from tt._compat.torch.operators import ops
        >>> ops.load_library("absent.so")
        Traceback (most recent call last):
        OSError: Could not load this library: absent.so
        """
        text = os.path.realpath(path)
        # A plugin may bring the operators of a library that was built against PyTorch.
        with suppress(OSError):
            _ops.load_library(path)
            self.loaded_libraries.add(text)
            return
        reason = explanation(text)
        if reason is not None:
            raise OSError(f"Could not load this library: {os.fspath(path)}\n  {reason}")
        try:
            ctypes.CDLL(text)
        except OSError as error:
            raise OSError(f"Could not load this library: {os.fspath(path)}") from error
        self.loaded_libraries.add(text)

    def __repr__(self) -> str:
        return "<module 'torch.ops' from '_ops.py'>"


ops: Final = TorchOps()
