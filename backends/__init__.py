"""Devices and array libraries: each backend is a plugin with kernels for them.

Importing it loads none of them; `tt.backends.cuda` does when it is first used.  Next to them are the libraries of
which PyTorch programs ask whether they are there: `tt.backends.cudnn.benchmark = True`.
"""

from importlib import import_module
from types import ModuleType

__all__ = [
    "array_api", "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp",
    "opt_einsum",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"tt.backends.{name}")
    raise AttributeError(f"module 'tt.backends' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
