"""The machine: whether it has a GPU that tt and PyTorch can use, and its description for readers of results."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata, util
from typing import Any

__all__ = ["LIBRARIES", "NO_GPU", "facts", "problem"]

NO_GPU = 2
"""The exit status without a GPU."""

LIBRARIES = (
    "cupy-cuda12x", "cupy-cuda13x", "nvidia-cudnn-frontend", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvmath-python",
    "torch", "numpy",
)  # fmt: skip


def problem() -> str | None:
    """Return why tt cannot use a GPU here, or None."""
    from tt.backends.cuda.runtime.availability import reason

    return reason()


def facts(packages: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """Return the GPU, its driver, and the versions of what computes on it."""
    import tt
    from benchmarks.environment import commit, form_of_tt, processor
    from tt.backends.cuda.runtime.availability import find_driver

    described: dict[str, str] = {"commit": commit(), "form": form_of_tt()[0], "processor": processor()}
    if problem() is None:
        properties: Any = tt.cuda.get_device_properties(0)
        described["gpu"] = properties.name
        described["memory"] = f"{properties.total_memory / 2**30:.0f} GiB"
        described["driver"] = f"CUDA {find_driver()}"
    for package in packages:
        try:
            described[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if util.find_spec("torch") is not None:
        import torch

        described["torch on CUDA"] = str(torch.cuda.is_available())
    return described
