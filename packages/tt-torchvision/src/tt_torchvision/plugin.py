"""The plugin `torchvision`: operators under the names that torchvision and torchaudio call."""

from __future__ import annotations

from typing import Any

from tt.core.hooks import Manifest, hookimpl

__all__ = ["tt_manifest", "tt_register"]


@hookimpl
def tt_manifest() -> Manifest:
    """Return the names of the plugin, and the libraries of PyTorch's that it replaces."""
    return Manifest(
        "torchvision",
        namespaces=("torchvision", "image", "torchaudio", "_torchaudio"),
        libraries=(
            "torchvision._C",
            "torchvision._C_stable",
            "torchvision.image",
            "torchvision.image_stable",
            "torchaudio.lib._torchaudio",
            "torchaudio.lib.libtorchaudio",
        ),
    )


@hookimpl
def tt_register(registry: Any) -> None:
    """Register the operators; nothing is compiled before one of them is called."""
    import tt_torchvision.audio
    import tt_torchvision.boxes
    import tt_torchvision.deform
    import tt_torchvision.images
    import tt_torchvision.regions  # noqa: F401
