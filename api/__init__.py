"""tt: tensors, operators and gradients whose kernels come from plugins.

This package only re-exports.  Operators (`tt.add`, `tt.zeros`, ...) are found in the schema at first use, everything
else in the tables below; importing tt itself imports neither NumPy nor a plugin, so that `tt --help` need not wait.
"""

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from tt import core as _core
from tt.core import compiled as _compiled

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from tt.core.host.host import Host as _Host
    from tt.core.tensor.tensor import Tensor

_compiled.install()


def _install_methods() -> None:
    from tt.core.methods.methods import install

    install()


def _host() -> _Host:
    from tt.core.host.host import HOST

    return HOST


_core.provide(_install_methods, _host)

__version__ = "0.1.0"

newaxis = None

# Module -> the names that tt takes from it, of those that describe tensors; loading them finds no plugin.
_TYPES = {
    "tt.core.dispatch.registry.registry": "ops",
    "tt.core.types.device": "device get_default_device set_default_device",
    "tt.core.types.dtype": (
        "bfloat16 bool_ complex128 complex32 complex64 dtype finfo float16 float32 float64 float8_e4m3fn "
        "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu iinfo int16 int32 int64 int8 qint32 qint8 "
        "quint8 uint16 uint32 uint64 uint8"
    ),
    "tt.core.types.layout": "layout strided",
    "tt.core.types.memory_format": "channels_last channels_last_3d contiguous_format memory_format preserve_format",
    "tt.core.types.promotion": "can_cast default_dtype get_default_dtype promote_types set_default_dtype",
    "tt.core.types.size": "Size",
}
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

# Module -> the names that tt takes from it whose loading finds the plugins, too.
_MEMBERS = {
    "tt.core.methods.creation": "as_tensor asarray from_dlpack from_numpy frombuffer tensor",
    "tt.utils.data.arrow": "from_arrow to_arrow",
    "tt.core.tensor.tensor": "Tensor",
    "tt.core.methods.parameter": "Parameter",
    "tt.core.methods.printing": "printoptions set_printoptions",
    "tt.core.tensor.generator": (
        "Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state"
    ),
    "tt.core.devices.streams": "Event Stream",
    "tt.core.devices.device_module": "get_device_module",
    "tt.backends.cpu.threads": "get_num_interop_threads get_num_threads set_num_interop_threads set_num_threads",
    "tt.core.layers.fake": "FakeMode fake_mode",
    "tt.core.dispatch.resolve.trace": "count trace_calls",
    "tt.core.dispatch.resolve.explain": "explain",
    "tt.core.dispatch.registry.masking": "mask_kernels",
    "tt.core.host.preferences": "prefer set_preference",
    "tt.core.dispatch.resolve.fallback": "fallback_policy set_fallback_policy",
    "tt.autograd": "enable_grad inference_mode is_grad_enabled no_grad set_grad_enabled",
    "tt.plugins.autograd.record.inference": "is_inference_mode_enabled",
    "tt.plugins.autograd.features.anomaly": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "tt.sparse": (
        "hspmm smm sparse_bsc sparse_bsc_tensor sparse_bsr sparse_bsr_tensor sparse_compressed_tensor sparse_coo "
        "sparse_coo_tensor sparse_csc sparse_csc_tensor sparse_csr sparse_csr_tensor sspaddmm"
    ),
    "tt.nested": "jagged",
    "tt.func": "vmap",
    "tt.core.errors": "OutOfMemoryError",
    "tt.amp.autocast_mode": "autocast",
    "tt.amp": "GradScaler",
    "tt.amp.autocast_state": (
        "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype "
        "get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype "
        "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled "
        "is_autocast_xla_enabled "
        "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype "
        "set_autocast_enabled "
        "set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype "
        "set_autocast_xla_enabled"
    ),
    "tt.compiler": "compile",
    "tt.serialization": "load save",
    "tt.core.dispatch.intercept.tt_function": (
        "DisableTTFunctionSubclass DisableTorchFunction DisableTorchFunctionSubclass"
    ),
    "tt.storage": "TypedStorage UntypedStorage",
    "tt._functions.inquiries": (
        "get_device is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero is_same_size "
        "is_signed is_storage numel resize_as_ result_type to_dlpack typename"
    ),
    "tt._compat.typed_tensors": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
        "ShortTensor set_default_tensor_type"
    ),
    "tt._functions.determinism": (
        "are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision "
        "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode "
        "set_float32_matmul_precision set_flush_denormal set_warn_always use_deterministic_algorithms"
    ),
    "tt._functions.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "tt._compat.older_functions": (
        "ccol_indices_copy col_indices_copy convolution crow_indices_copy embedding_renorm_ from_file hsmm "
        "indices_copy resize_as_sparse_ row_indices_copy saddmm set_anomaly_enabled spmm values_copy"
    ),
    "tt._compat.dropouts": "alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout feature_dropout_",
    "tt._compat.norms": "frobenius_norm native_norm norm_except_dim nuclear_norm",
    "tt._functions.control_flow": (
        "cond sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max "
        "sym_min sym_not sym_sqrt sym_sum while_loop"
    ),
    "tt.random": "thread_safe_generator",
    "tt._compat.build_facts": (
        "AcceleratorError compiled_with_cxx11_abi cudnn_is_acceptable has_lapack has_mkl has_openmp has_spectral "
        "init_num_threads is_vulkan_available"
    ),
    "tt._compat.typed_storages": (
        "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage "
        "FloatStorage HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage QUInt8Storage ShortStorage "
        "Storage StorageBase"
    ),
    "tt._compat.batch_statistics": (
        "batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
        "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats"
    ),
    "tt._compat.fake_quantization": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "tt._compat.quantized": (
        "empty_quantized int_repr per_channel_affine per_channel_affine_float_qparams per_channel_symmetric "
        "per_tensor_affine per_tensor_symmetric q_per_channel_axis q_per_channel_scales q_per_channel_zero_points "
        "q_scale q_zero_point qscheme quantize_per_channel quantize_per_tensor quantized quantized_batch_norm "
        "quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d"
    ),
    "tt._compat.choosing": "choose_qparams_optimized fused_moving_avg_obs_fake_quant quantize_per_tensor_dynamic",
    "tt._compat.internal_forms": (
        "_chunk_cat _safe_softmax _softmax_backward_data _unsafe_masked_index _unsafe_masked_index_put_accumulate"
    ),
    "tt._compat.checks": (
        "_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type "
        "_check_value _shape_as_tensor"
    ),
    "tt.jit": "fork wait",
}
# Deprecated names, which warn each time they are read: they are neither kept nor listed.
_DEPRECATED = dict.fromkeys(("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"), "tt._compat.build_facts")
_MODULES = (
    "_utils", "accelerator", "amp", "array_api", "autograd", "backends", "compiler", "cpu", "cuda", "distributed",
    "distributions", "errors", "fft", "func", "futures", "functional", "fx", "hub", "jit", "library", "linalg",
    "masked", "multiprocessing", "nested", "nn", "optim", "overrides", "profiler", "quasirandom", "random",
    "return_types", "serialization", "signal", "sparse", "special", "storage", "testing", "types", "utils", "version",
)  # fmt: skip

_TYPE_HOMES = {name: module for module, names in _TYPES.items() for name in names.split()}
_HOMES = {name: module for module, names in _MEMBERS.items() for name in names.split()}


def is_tensor(obj: object) -> TypeIs[Tensor]:
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
    if name == "__all__":
        from tt._compat.star import star_names

        return star_names(("is_tensor", *_TYPE_HOMES, *_SYNONYMS, *_HOMES))
    # Tools look up such names in every module, for which no plugin needs to be loaded.
    if name.startswith("__"):
        raise AttributeError(f"module 'tt' has no attribute {name!r}")
    if name in _TYPE_HOMES:
        member = getattr(importlib.import_module(_TYPE_HOMES[name]), name)
    elif name in _SYNONYMS:
        member = __getattr__(_SYNONYMS[name])
    elif name in _HOMES:
        # Finds the plugins, which names that only describe tensors do without.
        _core.start()
        member = getattr(importlib.import_module(_HOMES[name]), name)
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
    # `__getattr__` is called once for each name.
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

    return sorted({*globals(), *_TYPE_HOMES, *_SYNONYMS, *_HOMES, *_MODULES, *dir(ops)})
