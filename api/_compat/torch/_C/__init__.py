"""torch._C: what libraries ask PyTorch's C++ for.  Nothing is traced, compiled or fused, and no agent runs."""

from __future__ import annotations

from typing import Any, Final

import tt
from tt import Generator, Size, Tensor, device, dtype, layout, memory_format
from tt._compat.torch._C import _nn
from tt._compat.torch._C._dispatch import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
from tt._utils import _get_available_device_type
from tt.autograd.variable import Variable
from tt.core.methods.parameter import Parameter
from tt.futures import Future
from tt.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _get_current_function_mode_stack,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from tt.overrides import disabled_tt_dispatch_impl as _disabled_torch_dispatch_impl
from tt.overrides import disabled_tt_function_impl as _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "Future", "Generator",
    "Size", "device", "dtype", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "layout", "memory_format",
]  # fmt: skip

TensorBase: Final = Tensor
"""The class that PyTorch's `Tensor` is a subclass of; tt's is one class."""
_TensorBase: Final = Tensor
_TensorMeta: Final = type(Tensor)
_VariableFunctionsClass: Final = tt
"""What has the operators as its attributes; pickles take them of it."""
_LegacyVariableBase: Final = Variable
_ParameterMeta: Final = type(Parameter)


def _get_tracing_state() -> None:
    """Return None: nothing is traced."""


def _is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


def _log_api_usage_once(*args: object) -> None:
    """Do nothing: no use is logged."""


def _are_functorch_transforms_active() -> bool:
    """Return whether the call is made below `vmap`, `grad` or another transform."""
    from tt._compat.torch._C._functorch import are_transforms_active

    return are_transforms_active()


def _is_torch_function_mode_enabled() -> bool:
    """Return whether a function mode is active."""
    return bool(_get_current_function_mode_stack())


def _is_torch_function_enabled() -> bool:
    """Return True: tensor-likes answer."""
    return True


def _get_accelerator(check: bool | None = None) -> tt.device:
    """Return the device of the accelerator, or the CPU."""
    return tt.device(_get_available_device_type() or "cpu")


def _get_default_device() -> str:
    """Return the type of the device that factories use."""
    return str(tt.get_default_device())


def _get_privateuse1_backend_name() -> str:
    """Return the name of a third party's device: none has taken it."""
    return "privateuseone"


def _is_alias_of(first: tt.Tensor, second: tt.Tensor) -> bool:
    """Return whether two tensors share their memory."""
    return bool(first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr())


# --- the operators of layers, of transforms and of matrices, which are functions of modules below this one ----------

_fft = _linalg = _special = _nn


# --- TorchScript: settings that nothing reads -----------------------------------------------------------------------


def _settings(names: str, value: bool) -> dict[str, Any]:
    """Return functions that take any setting, and return what is so: that nothing is fused."""

    def make(name: str) -> Any:
        def setting(*args: object) -> bool:
            return value

        setting.__name__ = setting.__qualname__ = name
        setting.__doc__ = "Return False: TorchScript does not exist, and the setting is not used."
        return setting

    return {name: make(name) for name in names.split()}


globals().update(
    _settings(
        "_jit_can_fuse_on_cpu _jit_can_fuse_on_gpu _jit_nvfuser_enabled _jit_override_can_fuse_on_cpu "
        "_jit_override_can_fuse_on_gpu _jit_set_bailout_depth _jit_set_fusion_strategy _jit_set_nvfuser_enabled "
        "_jit_set_nvfuser_guard_mode _jit_set_profiling_executor _jit_set_profiling_mode "
        "_jit_set_texpr_fuser_enabled _jit_texpr_fuser_enabled _jit_set_logging_option",
        value=False,
    )
)
