"""The interface for plugin authors.

The plugins and backends of tt itself use this module and nothing else of the core, so a third party's
package can do all that they do.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tt.core import errors
from tt.core.blocks import Block, swapped
from tt.core.dispatch.call.cached_call import CachedCall
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.intercept.drawing import DrawHandler
from tt.core.dispatch.intercept.layers import Layer, LayerFunction
from tt.core.dispatch.intercept.modes import Mode, active_modes
from tt.core.dispatch.intercept.tt_function import (
    NOT_HANDLED,
    call_overrides,
    flat,
    intercept,
    listening,
    seen,
    unseen,
)
from tt.core.dispatch.mutate.mutation import targets_of, with_targets_of
from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.dispatch.registry.masking import mask_kernels
from tt.core.dispatch.registry.registry import (
    REGISTRY,
    PluginRegistry,
    Provider,
    RegistrationHandle,
    Registry,
    ops,
)
from tt.core.dispatch.registry.tables import CompositeTable, Kernel, KernelTable, LazyKernelTable
from tt.core.dispatch.resolve.fallback import fallback_policy, set_fallback_policy
from tt.core.family_index import FamilyIndex, family_modules
from tt.core.forks import fork_safe_lock, fork_safe_properties
from tt.core.hooks import Manifest, hookimpl
from tt.core.layers.tt_dispatch import TTDispatchMode
from tt.core.meta import MetaHandle, run_rule
from tt.core.methods.as_subclass import as_kind
from tt.core.methods.creation import as_tensor
from tt.core.methods.memory.host_access import handle_of
from tt.core.methods.memory.host_storage import tensor_in_storage
from tt.core.schema.model import Argument, OpDefinition, Signature
from tt.core.shapes import Result
from tt.core.shapes.geometry import dense_strides, view_strides
from tt.core.tensor.backend import Backend, contiguous_strides, is_non_overlapping_and_dense
from tt.core.tensor.base import TensorBase, TensorSpec, begin_epoch
from tt.core.tensor.device_interface import DeviceInterface, DeviceProperties
from tt.core.tensor.generator import Generator, default_states, reserve, set_default_states
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, alias, wrap
from tt.core.types.carried import Carried, state_of_thread
from tt.core.types.complex32 import is_complex32
from tt.core.types.complex32 import narrowed as encode_complex32
from tt.core.types.complex32 import widened as decode_complex32
from tt.core.types.determinism import DETERMINISM
from tt.core.types.device import Device, get_default_device
from tt.core.types.dtype import ALL_DTYPES, DTYPES, QUANTIZED, STORED, dtype, from_numpy_dtype, to_dtype
from tt.core.types.float8 import decode as decode_float8
from tt.core.types.float8 import encode as encode_float8
from tt.core.types.float8 import is_float8
from tt.core.types.freedom import degrees_of_freedom
from tt.core.types.keys import KEYS, OVERRIDDEN
from tt.core.types.layout import layout, register_layout
from tt.core.types.memory_format import order_of_strides
from tt.core.types.promotion import get_default_dtype, promote_types, result_type
from tt.core.types.scalars import fitted_number
from tt.core.types.size import Size
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.custom_op.custom_op import CustomOp
    from tt.core.custom_op.define import custom_op
    from tt.core.custom_op.infer_schema import infer_schema
    from tt.core.custom_op.kernel_snapshot import get_kernel
    from tt.core.custom_op.library import (
        Library,
        define,
        impl,
        impl_abstract,
        register_autograd,
        register_fake,
        register_kernel,
        register_tt_dispatch,
        register_vmap,
    )
    from tt.core.custom_op.scope import scoped
    from tt.core.layers.composed_backend import ComposedBackend
    from tt.core.methods.memory.sharing import reduce_shared
    from tt.core.methods.tt_function_api import TTFunctionMode, mark_overridable, overridable
    from tt.core.tensor.shared_memory import (
        get_all_sharing_strategies,
        get_sharing_strategy,
        set_sharing_strategy,
    )
    from tt.core.types.attention_choice import ATTENTION

__all__ = [
    "ALL_DTYPES",
    "ATTENTION",
    "DETERMINISM",
    "DTYPES",
    "KEYS",
    "NOT_HANDLED",
    "OVERRIDDEN",
    "QUANTIZED",
    "REGISTRY",
    "STORED",
    "Argument",
    "Backend",
    "Block",
    "CachedCall",
    "Carried",
    "ComposedBackend",
    "CompositeTable",
    "CustomOp",
    "Device",
    "DeviceInterface",
    "DeviceProperties",
    "DrawHandler",
    "FamilyIndex",
    "Generator",
    "Kernel",
    "KernelTable",
    "Layer",
    "LayerFunction",
    "LazyKernelTable",
    "Library",
    "Manifest",
    "MetaHandle",
    "Mode",
    "OpDefinition",
    "Operator",
    "PluginRegistry",
    "Provider",
    "RegistrationHandle",
    "Registry",
    "Result",
    "Signature",
    "Size",
    "Storage",
    "TTDispatchMode",
    "TTFunctionMode",
    "Tensor",
    "TensorBase",
    "TensorSpec",
    "active_modes",
    "alias",
    "as_kind",
    "as_tensor",
    "begin_epoch",
    "call_overrides",
    "contiguous_strides",
    "custom_op",
    "decode_complex32",
    "decode_float8",
    "default_states",
    "define",
    "degrees_of_freedom",
    "dense_strides",
    "dtype",
    "encode_complex32",
    "encode_float8",
    "errors",
    "fallback_policy",
    "family_modules",
    "fitted_number",
    "flat",
    "fork_safe_lock",
    "fork_safe_properties",
    "from_numpy_dtype",
    "get_all_sharing_strategies",
    "get_default_device",
    "get_default_dtype",
    "get_kernel",
    "get_sharing_strategy",
    "handle_of",
    "hookimpl",
    "impl",
    "impl_abstract",
    "infer_schema",
    "intercept",
    "is_complex32",
    "is_float8",
    "is_non_overlapping_and_dense",
    "layout",
    "listening",
    "mark_overridable",
    "mask_kernels",
    "ops",
    "order_of_strides",
    "overridable",
    "promote_types",
    "reduce_shared",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_layout",
    "register_tt_dispatch",
    "register_vmap",
    "reserve",
    "result_type",
    "run_rule",
    "scoped",
    "seen",
    "set_default_states",
    "set_fallback_policy",
    "set_sharing_strategy",
    "shares_memory",
    "state_of_thread",
    "swapped",
    "targets_of",
    "tensor_in_storage",
    "to_dtype",
    "unseen",
    "view_strides",
    "warn_user",
    "with_targets_of",
    "wrap",
]

_LATE: Final = {
    "ATTENTION": "types.attention_choice",
    "ComposedBackend": "layers.composed_backend",
    "CustomOp": "custom_op.custom_op",
    "Library": "custom_op.library",
    "TTFunctionMode": "methods.tt_function_api",
    "custom_op": "custom_op.define",
    "define": "custom_op.library",
    "get_all_sharing_strategies": "tensor.shared_memory",
    "get_kernel": "custom_op.kernel_snapshot",
    "get_sharing_strategy": "tensor.shared_memory",
    "impl": "custom_op.library",
    "impl_abstract": "custom_op.library",
    "infer_schema": "custom_op.infer_schema",
    "mark_overridable": "methods.tt_function_api",
    "overridable": "methods.tt_function_api",
    "reduce_shared": "methods.memory.sharing",
    "register_autograd": "custom_op.library",
    "register_fake": "custom_op.library",
    "register_kernel": "custom_op.library",
    "register_tt_dispatch": "custom_op.library",
    "register_vmap": "custom_op.library",
    "scoped": "custom_op.scope",
    "set_sharing_strategy": "tensor.shared_memory",
}
"""Names -> modules of the core, imported when one is used: backends, which each program loads, use none."""

_RENAMED: Final = {
    "Entry": "CachedCall",
    "Handle": "RegistrationHandle",
    "Rule": "LayerFunction",
    "Source": "Provider",
}
"""Deprecated names that work for one more release."""


def _renamed(name: str, module: str) -> Any:
    """Return the object of a deprecated name of a module, with a warning at the line that uses the name."""
    new = _RENAMED.get(name)
    if new is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warn_user(f"tt.library.{name} is now tt.library.{new}", DeprecationWarning)
    return globals()[new]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        found = globals()[name] = getattr(import_module(f"tt.core.{_LATE[name]}"), name)
        return found
    return _renamed(name, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
