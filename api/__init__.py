"""tt: tensors, operators and gradients whose kernels come from plugins.

This package only re-exports.  Operators (`tt.add`, `tt.zeros`, ...) are found in the schema at first use, everything
else in the tables below; importing tt itself imports neither NumPy nor a plugin, so that `tt --help` need not wait.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from tt.core import compiled as _compiled

_compiled.install()

__version__ = "0.1.0"

newaxis = None

# Where the names come from that describe tensors; loading them finds no plugin.
_TYPES = {
    "ops": "tt.core.dispatch.registry.registry",
    "device": "tt.core.types.device",
    "get_default_device": "tt.core.types.device",
    "set_default_device": "tt.core.types.device",
    **dict.fromkeys(
        ("bfloat16", "bool_", "complex32", "complex64", "complex128", "dtype", "finfo", "float8_e4m3fn",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32", "float64",
         "iinfo", "int8", "int16", "int32", "int64", "qint8", "qint32", "quint8", "uint8", "uint16", "uint32",
         "uint64"),
        "tt.core.types.dtype",
    ),
    "layout": "tt.core.types.layout",
    "strided": "tt.core.types.layout",
    **dict.fromkeys(
        ("channels_last", "channels_last_3d", "contiguous_format", "memory_format", "preserve_format"),
        "tt.core.types.memory_format",
    ),
    **dict.fromkeys(
        ("can_cast", "default_dtype", "get_default_dtype", "promote_types", "set_default_dtype"),
        "tt.core.types.promotion",
    ),
    "Size": "tt.core.types.size",
}  # fmt: skip
_SYNONYMS = {
    "bool": "bool_",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "legacy_contiguous_format": "contiguous_format",
}

# Where the names come from whose loading finds the plugins, too.
_LAZY = {
    "tensor": "tt.core.methods.creation",
    "as_tensor": "tt.core.methods.creation",
    "asarray": "tt.core.methods.creation",
    "from_numpy": "tt.core.methods.creation",
    "from_dlpack": "tt.core.methods.creation",
    "frombuffer": "tt.core.methods.creation",
    "from_arrow": "tt.utils.data.arrow",
    "to_arrow": "tt.utils.data.arrow",
    "Tensor": "tt.core.tensor.tensor",
    "Parameter": "tt.core.methods.parameter",
    "set_printoptions": "tt.core.methods.printing",
    "printoptions": "tt.core.methods.printing",
    "Generator": "tt.core.tensor.generator",
    "manual_seed": "tt.core.tensor.generator",
    "seed": "tt.core.tensor.generator",
    "initial_seed": "tt.core.tensor.generator",
    "default_generator": "tt.core.tensor.generator",
    "get_rng_state": "tt.core.tensor.generator",
    "set_rng_state": "tt.core.tensor.generator",
    "Stream": "tt.core.devices.streams",
    "Event": "tt.core.devices.streams",
    "get_device_module": "tt.core.devices.device_module",
    "get_num_threads": "tt.backends.cpu.threads",
    "set_num_threads": "tt.backends.cpu.threads",
    "get_num_interop_threads": "tt.backends.cpu.threads",
    "set_num_interop_threads": "tt.backends.cpu.threads",
    "FakeMode": "tt.core.layers.fake",
    "fake_mode": "tt.core.layers.fake",
    "trace_calls": "tt.core.dispatch.intercept.trace",
    "count": "tt.core.dispatch.intercept.trace",
    "explain": "tt.core.dispatch.resolve.explain",
    "mask_kernels": "tt.core.dispatch.registry.masking",
    "prefer": "tt.core.host.preferences",
    "set_preference": "tt.core.host.preferences",
    "fallback_policy": "tt.core.dispatch.resolve.fallback",
    "set_fallback_policy": "tt.core.dispatch.resolve.fallback",
    "no_grad": "tt.autograd",
    "enable_grad": "tt.autograd",
    "set_grad_enabled": "tt.autograd",
    "is_grad_enabled": "tt.autograd",
    "inference_mode": "tt.autograd",
    "is_inference_mode_enabled": "tt.plugins.autograd.record.inference",
    "is_anomaly_enabled": "tt.plugins.autograd.features.anomaly",
    "is_anomaly_check_nan_enabled": "tt.plugins.autograd.features.anomaly",
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
    "jagged": "tt.nested",
    "vmap": "tt.func",
    "OutOfMemoryError": "tt.core.errors",
    "autocast": "tt.amp.autocast_mode",
    "is_autocast_enabled": "tt.amp.autocast_mode",
    "set_autocast_enabled": "tt.amp.autocast_mode",
    "GradScaler": "tt.amp",
    **dict.fromkeys(
        ("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
         "get_autocast_dtype", "get_autocast_gpu_dtype", "get_autocast_ipu_dtype", "get_autocast_xla_dtype",
         "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_ipu_enabled", "is_autocast_xla_enabled",
         "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
         "set_autocast_gpu_dtype", "set_autocast_ipu_dtype", "set_autocast_ipu_enabled", "set_autocast_xla_dtype",
         "set_autocast_xla_enabled"),
        "tt.amp.autocast_state",
    ),
    "compile": "tt.compiler",
    "save": "tt.serialization",
    "load": "tt.serialization",
    "DisableTTFunctionSubclass": "tt.core.dispatch.intercept.tt_function",
    "TypedStorage": "tt.storage",
    "UntypedStorage": "tt.storage",
    **dict.fromkeys(
        ("get_device", "is_complex", "is_conj", "is_distributed", "is_floating_point", "is_inference", "is_neg",
         "is_nonzero", "is_same_size", "is_signed", "is_storage", "numel", "resize_as_", "result_type",
         "to_dlpack", "typename"),
        "tt._functions.inquiries",
    ),
    **dict.fromkeys(
        ("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
         "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type"),
        "tt._compat.typed_tensors",
    ),
    **dict.fromkeys(
        ("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
         "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "set_deterministic_debug_mode",
         "set_float32_matmul_precision", "set_flush_denormal", "set_warn_always", "use_deterministic_algorithms"),
        "tt._functions.determinism",
    ),
    **dict.fromkeys(
        ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"),
        "tt._functions.windows",
    ),
    **dict.fromkeys(
        ("ccol_indices_copy", "col_indices_copy", "convolution", "crow_indices_copy", "embedding_renorm_", "from_file",
         "hsmm", "indices_copy", "resize_as_sparse_", "row_indices_copy", "saddmm", "set_anomaly_enabled", "spmm",
         "values_copy"),
        "tt._compat.older_functions",
    ),
    **dict.fromkeys(
        ("alpha_dropout_", "dropout_", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_"),
        "tt._compat.dropouts",
    ),
    **dict.fromkeys(("frobenius_norm", "native_norm", "norm_except_dim", "nuclear_norm"), "tt._compat.norms"),
    **dict.fromkeys(
        ("cond", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size", "sym_int",
         "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum", "while_loop"),
        "tt._functions.control_flow",
    ),
    "thread_safe_generator": "tt.random",
    **dict.fromkeys(
        ("AcceleratorError", "compiled_with_cxx11_abi", "cudnn_is_acceptable", "has_lapack", "has_mkl", "has_openmp",
         "has_spectral", "init_num_threads", "is_vulkan_available"),
        "tt._compat.build_facts",
    ),
    **dict.fromkeys(
        ("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage",
         "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "QInt8Storage", "QInt32Storage",
         "QUInt8Storage", "ShortStorage", "Storage", "StorageBase"),
        "tt._compat.typed_storages",
    ),
    **dict.fromkeys(
        ("batch_norm_backward_elemt", "batch_norm_backward_reduce", "batch_norm_elemt", "batch_norm_gather_stats",
         "batch_norm_gather_stats_with_counts", "batch_norm_stats", "batch_norm_update_stats"),
        "tt._compat.batch_statistics",
    ),
    **dict.fromkeys(
        ("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"), "tt._compat.fake_quantization"
    ),
    **dict.fromkeys(
        ("empty_quantized", "int_repr", "per_channel_affine", "per_channel_affine_float_qparams",
         "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric", "q_per_channel_axis",
         "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme",
         "quantize_per_channel", "quantize_per_tensor", "quantized", "quantized_batch_norm", "quantized_max_pool1d",
         "quantized_max_pool2d", "quantized_max_pool3d"),
        "tt._compat.quantized",
    ),
    **dict.fromkeys(
        ("choose_qparams_optimized", "fused_moving_avg_obs_fake_quant", "quantize_per_tensor_dynamic"),
        "tt._compat.choosing",
    ),
    **dict.fromkeys(
        ("_chunk_cat", "_safe_softmax", "_softmax_backward_data", "_unsafe_masked_index",
         "_unsafe_masked_index_put_accumulate"),
        "tt._compat.internal_forms",
    ),
    **dict.fromkeys(
        ("_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
         "_check_type", "_check_value", "_shape_as_tensor"),
        "tt._compat.checks",
    ),
    "fork": "tt.jit",
    "wait": "tt.jit",
}  # fmt: skip
# Deprecated names, which warn each time they are read: they are neither kept nor listed.
_DEPRECATED = dict.fromkeys(("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"), "tt._compat.build_facts")
_MODULES = (
    "_utils",
    "accelerator",
    "amp",
    "array_api",
    "autograd",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "errors",
    "fft",
    "func",
    "futures",
    "functional",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "multiprocessing",
    "nested",
    "nn",
    "optim",
    "overrides",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "types",
    "utils",
    "version",
)


def is_tensor(obj: Any) -> Any:
    """Return whether an object is a tensor.

    Examples
    --------
    >>> import tt
    >>> tt.is_tensor(tt.zeros(2)), tt.is_tensor([0, 0])
    (True, False)
    """
    from tt.core.tensor.base import TensorBase

    return isinstance(obj, TensorBase)


def __getattr__(name: str) -> Any:
    if name in ("__config__", "__future__"):
        return importlib.import_module(f"tt.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'tt' has no attribute {name!r}")
    if name in _TYPES:
        member = getattr(importlib.import_module(_TYPES[name]), name)
    elif name in _SYNONYMS:
        member = __getattr__(_SYNONYMS[name])
    elif name in _LAZY:
        from tt.core.startup import start

        start()
        member = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _MODULES:
        return importlib.import_module(f"tt.{name}")
    elif name in _DEPRECATED:
        return getattr(importlib.import_module(_DEPRECATED[name]), name)
    else:
        from tt.core.dispatch.registry.registry import ops

        try:
            member = getattr(ops, name)
        except AttributeError as error:
            raise _unknown(name, error) from None
    globals()[name] = member
    return member


def _unknown(name: str, error: AttributeError) -> AttributeError:
    """Return the error for a name that neither tt nor an operator has; a plugin's own error stays."""
    from tt.core.errors import UnknownOpError

    if type(error) is not UnknownOpError:
        return error

    from tt._compat.reasons import reason

    return UnknownOpError(name, __dir__, owner="tt", reason=lambda: reason(name))


def __dir__() -> list[str]:
    from tt.core.dispatch.registry.registry import ops

    return sorted({*globals(), *_TYPES, *_SYNONYMS, *_LAZY, *_MODULES, *dir(ops)})


__all__ = [
    "Size",
    "bfloat16",
    "bool",
    "can_cast",
    "channels_last",
    "channels_last_3d",
    "complex32",
    "complex64",
    "complex128",
    "contiguous_format",
    "default_dtype",
    "device",
    "dtype",
    "finfo",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
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
    "qint8",
    "qint32",
    "quint8",
    "result_type",
    "set_default_device",
    "set_default_dtype",
    "strided",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
