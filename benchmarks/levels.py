"""Instruction sets: holds every library to one that the processor has, as if it had no better.

Each library reads a variable of its own when it is imported.  Like the number of threads, the level is therefore chosen
before anything is imported.
"""

from __future__ import annotations

import importlib
import os
from typing import Final

__all__ = ["LEVELS", "TITLES", "hold_numpy_to", "hold_to"]

LEVELS: Final = {
    "baseline": {
        "TT_ISA": "baseline",
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    },
    "avx2": {
        "TT_ISA": "avx2",
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
    "avx512": {
        "TT_ISA": "avx512",
        "OPENBLAS_CORETYPE": "SkylakeX",
        "ATEN_CPU_CAPABILITY": "avx512",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16",  # tt multiplies bfloat16 by these instructions, too
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
    },
}
"""The variables of each level: of tt, of NumPy's OpenBLAS, and of PyTorch's own kernels, oneDNN and MKL."""

TITLES: Final = {"avx512": "AVX-512", "avx2": "AVX2", "baseline": "baseline"}
"""What readers call the levels, the highest first."""

NUMPY: Final = {"baseline": ("X86_V3", "X86_V4", "AVX"), "avx2": ("X86_V4", "AVX512")}
"""Prefixes of the NumPy features that a level lacks."""

XLA: Final = {"baseline": "SSE4_2", "avx2": "AVX2", "avx512": "AVX512"}


def hold_to(level: str) -> None:
    """Hold all libraries that are imported from now on to a level; NumPy only by `hold_numpy_to`."""
    os.environ.update(LEVELS[level])
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_max_isa={XLA[level]}".strip()


def hold_numpy_to(level: str | None) -> None:
    """Hold NumPy to a level in processes that are started from now on.

    It warns about names that it does not know, so they are asked from the one that is imported here.
    """
    core = importlib.import_module("numpy._core._multiarray_umath")  # NumPy has no public list of these names
    beyond = NUMPY.get(level or "", ())
    names = [
        name for name in core.__cpu_dispatch__ if core.__cpu_features__[name] and name.startswith(beyond)
    ]
    if beyond and names:
        os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(names)
