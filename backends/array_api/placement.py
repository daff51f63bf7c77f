"""An array namespace that makes its arrays on chosen devices of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["CREATION", "PlacedNamespace"]

CREATION: Final = frozenset({
    "arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros", "fft.fftfreq", "fft.rfftfreq",
})  # fmt: skip
"""The functions of the standard that take `device` and have no array from which they could learn it."""


class PlacedNamespace:
    """A namespace whose creation functions get the device.

    Kernels are written without devices: arrays that they make from other arrays are on the same device, and arrays that
    they make from numbers are created on this one.

    Parameters
    ----------
    namespace : module
        The library's namespace.
    current : callable
        Returns the library's object for the device on which arrays are made now.
    prefix : str
        Names the extension of the standard that this is, "fft." for example.

    Examples
    --------
    >>> import numpy as np
    >>> placed = PlacedNamespace(np, lambda: "cpu")
    >>> placed.zeros((2,)).device
    'cpu'
    """

    def __init__(self, namespace: Any, current: Callable[[], Any], prefix: str = "") -> None:
        self._namespace, self._current, self._prefix = namespace, current, prefix

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._namespace, name)
        if self._prefix + name in CREATION:
            attribute = self._placed(attribute)
        elif self._prefix + name in ("fft", "linalg"):
            attribute = PlacedNamespace(attribute, self._current, f"{name}.")
        setattr(self, name, attribute)  # so that the next call finds it at once
        return attribute

    def _placed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def create(*args: Any, **options: Any) -> Any:
            options.setdefault("device", self._current())
            return function(*args, **options)

        return create
