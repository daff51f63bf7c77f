"""Forward mode: tensors that carry a tangent."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.plugins.autograd.transforms.forward_ad": (
            "UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual"
        ),
    },
    layer="transform",
)
