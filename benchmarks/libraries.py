"""The libraries that are measured: their setup, the names in their statements, and their results.

Importing this module imports none of them, not even NumPy: the number of threads is chosen first.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import warnings
from collections.abc import Callable, Iterable
from importlib import metadata, util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["LIBRARIES", "PEERS", "installed", "names_for", "set_threads", "to_arrays", "unusable", "version"]

DISTRIBUTIONS = {
    "tt": "tt-tensor",
    "torch": "torch",
    "numpy": "numpy",
    "jax": "jax",
    "autograd": "autograd",
    "tinygrad": "tinygrad",
}
LIBRARIES = tuple(DISTRIBUTIONS)
PEERS = LIBRARIES[1:]
"""All but tt; targets and comparisons refer to the first that is installed."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CPU_COUNT")


def installed(wanted: Iterable[str] = LIBRARIES) -> list[str]:
    """Return the libraries that are installed here, in the order of `LIBRARIES`."""
    return [name for name in LIBRARIES if name in set(wanted) and util.find_spec(name) is not None]


def version(library: str) -> str:
    """Return the version of a library."""
    try:
        return metadata.version(DISTRIBUTIONS[library])
    except metadata.PackageNotFoundError:
        return "not installed as a distribution"


def set_threads(count: int) -> None:
    """Let every library compute with so many threads: by the environment, which is read when they are imported."""
    for name in THREADS:
        os.environ[name] = str(count)
    flags = f"--xla_cpu_multi_thread_eigen={'true' if count > 1 else 'false'} intra_op_parallelism_threads={count}"
    os.environ["XLA_FLAGS"] = flags


@functools.cache
def unusable(library: str) -> str:
    """Return why an installed library computes nothing here; empty if it does."""
    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            to_arrays(tensor_of(library, np.ones(2, np.float32)))
    except Exception as error:  # whatever it raises, the others are still measured
        first = str(error).strip().splitlines()
        return f"{type(error).__name__}: {first[0] if first else ''}"
    return ""


# --- names in statements ---


def tensor_of(library: str, array: np.ndarray[Any, Any]) -> Any:
    """Return the array as the library's own."""
    if library in ("tt", "torch"):
        return importlib.import_module(library).from_numpy(array)
    if library == "jax":
        return importlib.import_module("jax.numpy").asarray(array)
    if library == "tinygrad":
        return tinygrad().Tensor(array).realize()
    return array


@functools.cache
def tinygrad() -> Any:
    """Import tinygrad, with a code generator that is there: its default one needs clang."""
    if shutil.which(os.environ.get("CC", "clang")) is None or shutil.which("clang") is None:
        os.environ.setdefault("DEV", "CPU:X86")
    else:
        os.environ.setdefault("DEV", "CPU")
    return importlib.import_module("tinygrad")


def modules_for(library: str) -> dict[str, Any]:
    """Return the modules that the statements for a library name."""
    load = importlib.import_module
    np = load("numpy")
    table: dict[str, Callable[[], dict[str, Any]]] = {
        "tt": lambda: {"lib": load("tt"), "F": load("tt.nn.functional")},
        "torch": lambda: {"lib": load("torch"), "F": load("torch.nn.functional")},
        "numpy": dict,
        "jax": lambda: {"jax": load("jax"), "jnp": load("jax.numpy")},
        "autograd": lambda: {"anp": load("autograd.numpy"), "grad": load("autograd").grad},
        "tinygrad": lambda: {"Tensor": tinygrad().Tensor},
    }
    return {"np": np, **table[library]()}


def names_for(library: str, arrays: dict[str, np.ndarray[Any, Any]], gradient: list[str]) -> dict[str, Any]:
    """Return the names that a case's statements see: modules, and the inputs as the library's arrays."""
    tensors = {name: tensor_of(library, array) for name, array in arrays.items()}
    if library in ("tt", "torch"):
        for name in gradient:
            tensors[name].requires_grad_()
    return modules_for(library) | tensors


# --- results ---


def to_arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    """Return the results of a statement, in any library, as NumPy arrays: one, or those of a tuple."""
    if isinstance(value, list | tuple):
        return [array for item in value for array in to_arrays(item)]
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach()
    if str(getattr(value, "dtype", "")).endswith("bfloat16"):
        value = value.astype("float32") if hasattr(value, "astype") else value.float()
    if hasattr(value, "numpy"):
        value = value.numpy()
    return [np.asarray(value)]
