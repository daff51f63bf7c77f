"""tt: tensors, operators and gradients whose kernels come from plugins.

This package only re-exports.  Operators (`tt.add`, `tt.zeros`, ...) are found in the schema at first use, everything
else in the table below; importing tt itself loads no plugin.
"""

from __future__ import annotations

import importlib
from typing import Any

from tt.core import compiled as _compiled

_compiled.install()

from tt.core.device import device, get_default_device, set_default_device  # noqa: E402
from tt.core.dispatch.registry import ops  # noqa: E402
from tt.core.dtype import (  # noqa: E402
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tt.core.layout import layout, strided  # noqa: E402
from tt.core.memory_format import (  # noqa: E402
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from tt.core.promotion import (  # noqa: E402
    can_cast,
    default_dtype,
    get_default_dtype,
    promote_types,
    result_type,
    set_default_dtype,
)
from tt.core.size import Size  # noqa: E402

__version__ = "0.1.0"

from math import e, inf, nan, pi  # noqa: E402

bool = bool_
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
cfloat, cdouble = complex64, complex128
newaxis = None

# Where the names come from that are loaded when first used.
_LAZY = {
    "tensor": "tt.core.construct",
    "as_tensor": "tt.core.construct",
    "asarray": "tt.core.construct",
    "from_numpy": "tt.core.construct",
    "from_dlpack": "tt.core.construct",
    "frombuffer": "tt.core.construct",
    "Tensor": "tt.core.tensor",
    "Parameter": "tt.core.parameter",
    "set_printoptions": "tt.core.printing",
    "printoptions": "tt.core.printing",
    "Generator": "tt.core.random",
    "manual_seed": "tt.core.random",
    "seed": "tt.core.random",
    "initial_seed": "tt.core.random",
    "default_generator": "tt.core.random",
    "get_rng_state": "tt.core.random",
    "set_rng_state": "tt.core.random",
    "Stream": "tt.core.streams",
    "Event": "tt.core.streams",
    "get_device_module": "tt.core.device_module",
    "get_num_threads": "tt.backends.cpu.threads",
    "set_num_threads": "tt.backends.cpu.threads",
    "get_num_interop_threads": "tt.backends.cpu.threads",
    "set_num_interop_threads": "tt.backends.cpu.threads",
    "FakeMode": "tt.core.fake",
    "fake_mode": "tt.core.fake",
    "trace_calls": "tt.core.dispatch.trace",
    "count": "tt.core.dispatch.trace",
    "explain": "tt.core.dispatch.explain",
    "mask_kernels": "tt.core.dispatch.masking",
    "prefer": "tt.core.choosing",
    "set_preference": "tt.core.choosing",
    "fallback_policy": "tt.core.dispatch.fallback",
    "set_fallback_policy": "tt.core.dispatch.fallback",
    "no_grad": "tt.autograd",
    "enable_grad": "tt.autograd",
    "set_grad_enabled": "tt.autograd",
    "is_grad_enabled": "tt.autograd",
    "inference_mode": "tt.autograd",
    "is_inference_mode_enabled": "tt.plugins.autograd.inference",
    "is_anomaly_enabled": "tt.plugins.autograd.anomaly",
    "is_anomaly_check_nan_enabled": "tt.plugins.autograd.anomaly",
    "hspmm": "tt.sparse",
    "smm": "tt.sparse",
    "sspaddmm": "tt.sparse",
    "sparse_coo_tensor": "tt.sparse",
    "sparse_compressed_tensor": "tt.sparse",
    "sparse_csr_tensor": "tt.sparse",
    "sparse_csc_tensor": "tt.sparse",
    "sparse_bsr_tensor": "tt.sparse",
    "sparse_bsc_tensor": "tt.sparse",
    "sparse_coo": "tt.sparse",
    "sparse_csr": "tt.sparse",
    "sparse_csc": "tt.sparse",
    "sparse_bsr": "tt.sparse",
    "sparse_bsc": "tt.sparse",
    "vmap": "tt.func",
    "OutOfMemoryError": "tt.core.errors",
    "DisableTTFunctionSubclass": "tt.core.dispatch.overrides",
}
_MODULES = (
    "accelerator",
    "autograd",
    "backends",
    "cpu",
    "cuda",
    "errors",
    "fft",
    "func",
    "library",
    "linalg",
    "nn",
    "overrides",
    "sparse",
    "special",
    "testing",
    "utils",
)


def is_tensor(obj: Any) -> Any:
    """Tell whether an object is a tensor.

    Examples
    --------
    >>> import tt
    >>> tt.is_tensor(tt.zeros(2)), tt.is_tensor([0, 0])
    (True, False)
    """
    from tt.core.tensor_base import TensorBase

    return isinstance(obj, TensorBase)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tt' has no attribute {name!r}")
    if name in _LAZY:
        from tt.core.startup import start

        start()
        found = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _MODULES:
        return importlib.import_module(f"tt.{name}")
    else:
        found = getattr(ops, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES, *dir(ops)})


__all__ = [
    "Size",
    "bfloat16",
    "bool",
    "can_cast",
    "channels_last",
    "channels_last_3d",
    "complex64",
    "complex128",
    "contiguous_format",
    "default_dtype",
    "device",
    "dtype",
    "finfo",
    "float16",
    "float32",
    "float64",
    "get_default_device",
    "get_default_dtype",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_tensor",
    "layout",
    "memory_format",
    "ops",
    "preserve_format",
    "promote_types",
    "result_type",
    "set_default_device",
    "set_default_dtype",
    "strided",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
