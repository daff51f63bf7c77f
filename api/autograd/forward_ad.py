"""Forward mode: tensors that carry a tangent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.transforms.forward_ad import UnpackedDualTensor as UnpackedDualTensor
    from tt.plugins.autograd.transforms.forward_ad import dual_level as dual_level
    from tt.plugins.autograd.transforms.forward_ad import enter_dual_level as enter_dual_level
    from tt.plugins.autograd.transforms.forward_ad import exit_dual_level as exit_dual_level
    from tt.plugins.autograd.transforms.forward_ad import make_dual as make_dual
    from tt.plugins.autograd.transforms.forward_ad import unpack_dual as unpack_dual

_SOURCES = {
    "UnpackedDualTensor": "tt.plugins.autograd.transforms.forward_ad",
    "dual_level": "tt.plugins.autograd.transforms.forward_ad",
    "enter_dual_level": "tt.plugins.autograd.transforms.forward_ad",
    "exit_dual_level": "tt.plugins.autograd.transforms.forward_ad",
    "make_dual": "tt.plugins.autograd.transforms.forward_ad",
    "unpack_dual": "tt.plugins.autograd.transforms.forward_ad",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.forward_ad", _SOURCES, layer="transform")
