"""The hooks of a plugin, which an entry point of the group `tt.plugins` may implement.

The value of the entry point is a light module (or an object) with functions marked `@hookimpl`:

    from tt.core.hooks import Manifest, hookimpl

    @hookimpl
    def tt_manifest():
        return Manifest("acme", namespaces=("acme",))

    @hookimpl
    def tt_define(registry):
        registry.add_definitions(Path(__file__).with_name("ops.yaml"))

    @hookimpl
    def tt_register(registry):
        from tt_acme.kernels import acme
        registry.add(acme)

`tt_manifest` is called when the first tensor is made and must import nothing heavy; `tt_define` when all operators
are listed, and before `tt_register`, which is called when something that the manifest declares is used for the first
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pluggy

from tt.core.host.manifest import Manifest

if TYPE_CHECKING:
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["Hooks", "Manifest", "hookimpl"]

hookspec = pluggy.HookspecMarker("tt")
hookimpl = pluggy.HookimplMarker("tt")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


class Hooks:
    """The specifications of the hooks."""

    @staticmethod
    @hookspec(firstresult=True)
    def tt_manifest() -> Manifest:
        """Return the plugin's name and contents."""
        raise NotImplementedError

    @staticmethod
    @hookspec(firstresult=True)
    def tt_define(registry: Registry) -> Any:
        """Define the plugin's operators, and import nothing else of it.

        Called before `tt_register`, or without it where all operators are listed.  A plugin may also define its
        operators in `tt_register`; then a list of operators loads all of it.

        Parameters
        ----------
        registry : Registry
            Takes files or definitions (`add_definitions`).
        """

    @staticmethod
    @hookspec(firstresult=True)
    def tt_register(registry: Registry) -> Any:
        """Hand the plugin's tables over to the dispatcher.

        Parameters
        ----------
        registry : Registry
            Takes kernel and composite tables (`add`), backends (`add_backend`), layers (`add_layer`) and
            operator definitions (`add_definitions`), and notes which plugin brought them.
        """

    @staticmethod
    @hookspec(firstresult=True)
    def tt_commands() -> Mapping[str, str]:
        """Return further commands of `tt`: name -> "module:attribute" of a function or a typer application.

        The module is imported when the command, or the help of `tt`, is requested.
        """
        raise NotImplementedError
