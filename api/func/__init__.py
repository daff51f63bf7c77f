"""Function transforms: `vmap` and `grad`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt.plugins.autograd.transforms.functional import grad as grad
    from tt.plugins.autograd.transforms.functional import grad_and_value as grad_and_value
    from tt.plugins.autograd.transforms.functional import vmap as vmap

__all__ = ["grad", "grad_and_value", "vmap"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tt.func' has no attribute {name!r}")
    from tt.core import host

    host.require("layer", "transform")
    host.activate("layer", "transform")
    from tt.plugins.autograd.transforms import functional

    found = getattr(functional, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
