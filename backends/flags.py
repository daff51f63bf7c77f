"""Modules whose attributes are switches, so that `import tt.backends.cudnn as cudnn; cudnn.benchmark = True` works."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

__all__ = ["switches"]


def switches(module: str, settings: Any) -> None:
    """Make the switches of an object attributes of a module: reading and writing them reaches the object.

    Parameters
    ----------
    module : str
        The name of the module.
    settings : Settings
        An object with the `names` of its switches.
    """

    class Switches(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name in settings.names:
                return getattr(settings, name)
            raise AttributeError(f"module {module!r} has no attribute {name!r}")

        def __setattr__(self, name: str, value: Any) -> None:
            if name in settings.names:
                setattr(settings, name, value)
            else:
                super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *settings.names})

    # Python's documented way to give a module properties is another class for it.
    sys.modules[module].__class__ = Switches
