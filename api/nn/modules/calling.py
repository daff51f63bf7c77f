"""The hot path of a module: calling it, and reading its parameters, buffers and submodules.

This is a hot module: plain Python that Cython compiles with the C types of its `.pxd`.
"""

from __future__ import annotations

from typing import Any

from tt.nn.modules import attribute_slot
from tt.nn.modules.failing_layer import note_layer, refused_argument

__all__ = ["GLOBAL_HOOKS", "HOOK_TABLES", "ModuleBase"]

HOOK_TABLES = (
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
)
"""Tables of a module that are made when one of them is first read: most modules never have a hook."""

GLOBAL_HOOKS: list[bool] = []
"""Not empty once a hook of all modules was registered."""


class ModuleBase:
    """Calls and attributes of a module."""

    _may_have_hooks = False  # True in a module whose tables of hooks have been read

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Only where nobody overrides the look-up: the slot in C takes the place of just these two
        # functions.
        if cls.__getattr__ is ModuleBase.__getattr__ and cls.__getattribute__ is object.__getattribute__:
            attribute_slot.install_slot(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`, and the hooks around it."""
        try:
            # The usual call has no hooks and goes to forward by one test, without a look at eleven tables.
            if self._may_have_hooks or GLOBAL_HOOKS:
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs)
        # Only on the way out of an error, so that a call which succeeds pays nothing for the better
        # message.
        except Exception as error:
            refused = refused_argument(self, error, args, kwargs)
            note_layer(self, refused or error)
            if refused is not None:
                raise refused from error
            raise

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            entries = members.get(table)
            if entries is not None and name in entries:
                return entries[name]
        return self._missing_attribute(name)

    def _missing_attribute(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
