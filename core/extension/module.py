"""The result of loading: an object whose attributes are operators."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tt.core.custom_op.custom_op import CustomOp
from tt.core.errors import did_you_mean
from tt.core.extension.device_source import DeviceFunction

__all__ = ["LOADED", "Extension"]

LOADED: Final[dict[str, Extension]] = {}
"""The extensions of this process by name, so that one that is loaded again replaces its own operators."""


class Extension:
    """A loaded extension: its functions are attributes, each an operator.

    Attributes
    ----------
    name : str
        Its name.
    functions : dict
        Name of a function -> operator.
    launched : dict
        Name of a `__global__` function of CUDA -> what launches it.
    library : Path or None
        Where the compiled code lies; None if there is only code for devices.
    loaded_by : str
        The module that loaded it.
    """

    def __init__(self, name: str, loaded_by: str, library: Path | None) -> None:
        self.name, self.library = name, library
        self.functions: dict[str, CustomOp] = {}
        self.launched: dict[str, DeviceFunction] = {}
        self.loaded_by = loaded_by

    def bind(self) -> None:
        """Make the functions attributes, which cost nothing to look up."""
        for name, function in {**self.functions, **self.launched}.items():
            # A function that has the name of something else is found by module.functions["remove"].
            if name not in self.__dict__ and not hasattr(type(self), name):
                self.__dict__[name] = function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = [*self.functions, *self.launched]
        raise AttributeError(
            f"the extension {self.name!r} has no function {name!r}{did_you_mean(name, known)}\n"
            f"  functions: {', '.join(known) or '(none)'}"
        )

    def __repr__(self) -> str:
        return f"<extension {self.name!r}: {', '.join([*self.functions, *self.launched])}>"

    def remove(self) -> None:
        """Unregister its operators.  Doing it twice does nothing."""
        for op in self.functions.values():
            op.remove()
        if LOADED.get(self.name) is self:
            del LOADED[self.name]
