"""All that a plugin author imports.

The plugins and backends of tt itself use this module and nothing else of the core, so what they can do, a third
party's package can do.
"""

from __future__ import annotations

from tt.core import errors
from tt.core.annotations import infer_schema
from tt.core.backend import Backend, contiguous_strides
from tt.core.blocks import Block, swapped
from tt.core.construct import as_tensor
from tt.core.custom_op import CustomOp
from tt.core.defining import custom_op
from tt.core.device import Device, get_default_device
from tt.core.device_interface import DeviceInterface, DeviceProperties
from tt.core.dispatch.entry import Entry
from tt.core.dispatch.fallback import fallback_policy, set_fallback_policy
from tt.core.dispatch.layers import Layer, Rule
from tt.core.dispatch.masking import mask_kernels
from tt.core.dispatch.modes import Mode, active_modes
from tt.core.dispatch.mutation import targets_of, with_targets_of
from tt.core.dispatch.operator import Operator
from tt.core.dispatch.overrides import NOT_HANDLED, intercept, listening, unseen
from tt.core.dispatch.registry import REGISTRY, Handle, PluginRegistry, Registry, Source, ops
from tt.core.dispatch.tables import CompositeTable, Kernel, KernelTable
from tt.core.dtype import DTYPES, dtype, from_numpy_dtype, to_dtype
from tt.core.forks import fork_safe_lock, fork_safe_properties
from tt.core.hooks import Manifest, hookimpl
from tt.core.keys import KEYS, OVERRIDDEN
from tt.core.layout import layout, register_layout
from tt.core.meta import MetaHandle, run_rule
from tt.core.numbers import fitted_number
from tt.core.op_library import (
    Library,
    define,
    impl,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from tt.core.overrides import TTFunctionMode
from tt.core.promotion import get_default_dtype, promote_types, result_type
from tt.core.python_dispatch import TTDispatchMode
from tt.core.random import Generator, default_states, reserve, set_default_states
from tt.core.reading import handle_of
from tt.core.schema.model import Argument, OpDefinition, Signature
from tt.core.scope import scoped
from tt.core.shapes import Result
from tt.core.shapes.geometry import view_strides
from tt.core.size import Size
from tt.core.storage import Storage
from tt.core.tensor import Tensor, alias, wrap
from tt.core.tensor_base import TensorBase, TensorSpec

__all__ = [
    "DTYPES",
    "KEYS",
    "NOT_HANDLED",
    "OVERRIDDEN",
    "REGISTRY",
    "Argument",
    "Backend",
    "Block",
    "CompositeTable",
    "CustomOp",
    "Device",
    "DeviceInterface",
    "DeviceProperties",
    "Entry",
    "Generator",
    "Handle",
    "Kernel",
    "KernelTable",
    "Layer",
    "Library",
    "Manifest",
    "MetaHandle",
    "Mode",
    "OpDefinition",
    "Operator",
    "PluginRegistry",
    "Registry",
    "Result",
    "Rule",
    "Signature",
    "Size",
    "Source",
    "Storage",
    "TTDispatchMode",
    "TTFunctionMode",
    "Tensor",
    "TensorBase",
    "TensorSpec",
    "active_modes",
    "alias",
    "as_tensor",
    "contiguous_strides",
    "custom_op",
    "default_states",
    "define",
    "dtype",
    "errors",
    "fallback_policy",
    "fitted_number",
    "fork_safe_lock",
    "fork_safe_properties",
    "from_numpy_dtype",
    "get_default_device",
    "get_default_dtype",
    "handle_of",
    "hookimpl",
    "impl",
    "infer_schema",
    "intercept",
    "layout",
    "listening",
    "mask_kernels",
    "ops",
    "promote_types",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_layout",
    "register_vmap",
    "reserve",
    "result_type",
    "run_rule",
    "scoped",
    "set_default_states",
    "set_fallback_policy",
    "swapped",
    "targets_of",
    "to_dtype",
    "unseen",
    "view_strides",
    "with_targets_of",
    "wrap",
]
