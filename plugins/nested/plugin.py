"""The plugin `nested`: its manifest and registration.  Light: imports no kernels."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tt.core.hooks import Manifest, hookimpl

if TYPE_CHECKING:
    from tt.core.library import PluginRegistry

DEVICES: Final = ("cpu", "cuda", "meta")
MEMBERS: Final = ("lengths", "offsets", "to_padded_tensor")


@hookimpl
def tt_manifest() -> Manifest:
    """Declare the layout and the members of jagged tensors."""
    return Manifest(
        "nested",
        layouts=("jagged",),
        namespaces=("nested",),
        members={name: f"tt.plugins.nested.members:{name}" for name in MEMBERS},
    )


@hookimpl
def tt_define(registry: PluginRegistry) -> None:
    """Hand over the operators."""
    registry.add_definitions(os.path.join(os.path.dirname(__file__), "ops.yaml"))


@hookimpl
def tt_register(registry: PluginRegistry) -> None:
    """Hand over the backends and their kernels."""
    from tt.core.library import errors
    from tt.plugins.nested.backend import JaggedBackend

    for device in DEVICES:
        registry.add_backend(JaggedBackend(device))

    from tt.plugins.nested.formulas import formulas, parts
    from tt.plugins.nested.tables import tables

    for device in DEVICES:
        for table in tables(device):
            registry.add(table)
    # Without the autograd plugin formulas cannot be registered.
    with suppress(errors.PluginError, errors.PluginFailedError, errors.PluginMissingError):
        registry.add(formulas)
        registry.add(parts)
