"""PyTorch's public names, and which of them tt has: `python -m tests.api.pytorch_names` prints the counts."""

from __future__ import annotations

import importlib
import inspect
import types
import warnings
from fnmatch import fnmatchcase
from typing import Any, Final

CENTRAL: Final = (
    "",
    "Tensor",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "sparse",
    "signal.windows",
    "masked",
)
"""Namespaces of operators, of which few described names are left out."""

FURTHER: Final = (
    "nn", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune",
    "nn.utils.stateless", "nn.attention", "nn.attention.bias", "nn.attention.flex_attention", "nn.parameter",
    "nn.parallel", "nn.grad", "optim", "optim.lr_scheduler", "optim.swa_utils", "signal", "nested",
    "autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "autograd.function",
    "autograd.grad_mode", "random", "quasirandom", "func", "distributions", "distributions.constraints",
    "distributions.transforms", "distributions.kl", "cuda", "cuda.amp", "cuda.memory", "accelerator", "cpu", "cpu.amp",
    "testing",
    "overrides", "library", "futures", "multiprocessing", "hub", "serialization", "storage", "types", "functional",
    "return_types", "utils", "utils.data", "utils.dlpack", "utils.benchmark", "utils.flop_counter", "utils.checkpoint",
    "utils.hooks", "utils.model_zoo", "utils.module_tracker", "utils.weak", "utils.cpp_extension", "utils._pytree",
    "backends.cuda", "backends.mkl", "backends.openmp", "__config__", "__future__",
)  # fmt: skip
INNER: Final = (
    "accelerator.memory", "amp.autocast_mode", "amp.grad_scaler", "autograd.anomaly_mode", "autograd.gradcheck",
    "autograd.profiler", "autograd.profiler_legacy", "autograd.profiler_util", "autograd.variable", "backends",
    "backends.cpu", "backends.cudnn", "backends.cusparselt", "backends.kleidiai", "backends.mha", "backends.mkldnn",
    "backends.mps", "backends.nnpack", "backends.opt_einsum", "cpu.amp.autocast_mode",
    "cpu.amp.grad_scaler", "cuda.amp.autocast_mode", "cuda.amp.common", "cuda.amp.grad_scaler", "cuda.comm",
    "cuda.gds", "cuda.graphs", "cuda.green_contexts", "cuda.nccl", "cuda.nvtx", "cuda.profiler", "cuda.random",
    "cuda.sparse", "cuda.streams", "cuda.tunable", "distributed.fsdp", "distributed.optim",
    "masked.maskedtensor.core", "masked.maskedtensor.creation",
    "multiprocessing.pool", "multiprocessing.queue", "multiprocessing.reductions", "nn.attention.varlen", "nn.cpp",
    "nn.parallel.comm", "nn.parallel.data_parallel", "nn.parallel.parallel_apply", "nn.parallel.replicate",
    "nn.parallel.scatter_gather", "nn.utils.spectral_norm", "numa.binding", "signal.windows.windows",
    "sparse.semi_structured", "utils.backend_registration", "utils.bundled_inputs", "utils.collect_env",
    "utils.cpp_backtrace", "utils.data.dataloader", "utils.data.dataset", "utils.data.distributed",
    "utils.data.datapipes.iter", "utils.data.datapipes.map", "utils.data.graph_settings", "utils.data.sampler",
    "utils.debug_log", "utils.deterministic", "utils.file_baton", "utils.mkldnn", "utils.mobile_optimizer",
    "utils.throughput_benchmark",
)  # fmt: skip
"""Modules inside of packages."""
COMPARED: Final = (*CENTRAL, *FURTHER, *INNER, "compiler", "jit", "amp")
"""Namespaces whose names are all there, or in the table of those that are left out."""
APART: Final = ("profiler", "export", "fx", "onnx", "distributed")
"""Namespaces that are counted for themselves."""
HELPERS: Final = (
    "BroadcastingList*", "assert_int_or_pair", "boolean_dispatch", "*torch_function*", "classproperty",
    "get_file_path", "prepare_multiprocessing_environment", "profiler_allow_*", "factory_kwargs",
)  # fmt: skip
"""What modules without `__all__` import for themselves."""
ONLY_RAISE: Final = frozenset({"compile", "compiler.compile"})
"""Names that exist only to give a reason, which do not count."""


def public(namespace: str) -> set[str]:
    """Return the public names of a namespace of PyTorch.

    They are those of `__all__`, or the functions, classes and values that it defines: no modules, nothing of other
    packages, and no classes of TorchScript, which `torch` re-exports from C++ without a description.
    """
    import torch

    if namespace == "Tensor":
        return {name for name in dir(torch.Tensor) if not name.startswith("_")}
    module = importlib.import_module(f"torch.{namespace}".rstrip("."))
    listed = getattr(module, "__all__", None)
    names = set(dir(module) if listed is None or namespace == "" else listed)
    names = {n for n in names if not n.startswith("_") and hasattr(module, n)}
    return {n for n in names if _counts(namespace, n, listed, getattr(module, n))}


def _counts(namespace: str, name: str, listed: list[str] | None, value: Any) -> bool:
    """Return whether a name is the namespace's own, and for users."""
    if isinstance(value, types.ModuleType):
        return False
    if type(value).__name__ == "pybind11_type" and namespace == "":
        return False  # TorchScript's classes, which C++ gives to Python without a description
    if name in ("Tensor", "DType") and namespace:
        return False
    if listed is not None and (namespace != "" or name in listed):
        return True
    home = getattr(value, "__module__", None) or ""
    if isinstance(value, type) or callable(value):
        return home.split(".")[0] in ("torch", "") and not any(fnmatchcase(name, p) for p in HELPERS)
    return type(value).__module__ == "torch"


def has(namespace: str, name: str) -> bool:
    """Return whether tt has a name, as something other than an error."""
    import tt

    if f"{namespace}.{name}".lstrip(".") in ONLY_RAISE:
        return False
    if namespace == "Tensor":
        return hasattr(tt.Tensor, name)
    try:
        return hasattr(importlib.import_module(f"tt.{namespace}".rstrip(".")), name)
    except ImportError:
        return False


def missing(namespace: str) -> list[str]:
    """Return the names that tt lacks."""
    return sorted(name for name in public(namespace) if not has(namespace, name))


def described(namespace: str, name: str) -> bool:
    """Return whether PyTorch describes a name: dtypes and the like are, functions of C++ only with a docstring."""
    import torch

    owner: Any = torch
    for part in namespace.split(".") if namespace else ():
        owner = getattr(owner, part)
    value = inspect.getattr_static(owner, name)
    if not callable(value) and not hasattr(value, "__get__"):
        return True
    return bool(isinstance(value.__doc__, str) and value.__doc__.strip())


def main() -> None:
    """Print a line for each namespace."""
    warnings.simplefilter("ignore")
    for title, namespaces in (("compared", COMPARED), ("apart", APART)):
        had = total = 0
        for namespace in namespaces:
            try:
                names = public(namespace)
            except ImportError as error:
                print(f"torch.{namespace}: {error}")
                continue
            lacking = missing(namespace)
            had, total = had + len(names) - len(lacking), total + len(names)
            print(f"torch.{namespace}: {len(names) - len(lacking)} of {len(names)}", *lacking)
        print(f"--- {title}: {had} of {total}\n")


if __name__ == "__main__":
    main()
