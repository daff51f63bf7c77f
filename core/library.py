"""What the plugins and backends of tt itself import, and nothing else of the core.

Names come and go here as these plugins need: there is no promise.  `tt.library` has those that others may rely on.
Backends, which every program loads, use half of them, so each is imported when it is first used.
"""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.core": "errors",
        "tt.core.blocks": "Block swapped",
        "tt.core.custom_op.custom_op": "CustomOp",
        "tt.core.custom_op.define": "custom_op",
        "tt.core.custom_op.infer_schema": "infer_schema",
        "tt.core.custom_op.registrations": "get_ctx",
        "tt.core.custom_op.kernel_snapshot": "get_kernel",
        "tt.core.custom_op.library": (
            "Library define impl impl_abstract register_autocast register_autograd register_fake "
            "register_kernel register_torch_dispatch register_tt_dispatch register_vmap"
        ),
        "tt.core.custom_op.scope": "scoped",
        "tt.core.dispatch.call.cached_call": "CachedCall",
        "tt.core.dispatch.call.operator": "Operator",
        "tt.core.dispatch.intercept.ambient": "ambient_of without_ambient",
        "tt.core.dispatch.intercept.drawing": "DrawHandler",
        "tt.core.dispatch.intercept.layers": "Layer LayerFunction",
        "tt.core.dispatch.intercept.modes": "Mode active_modes",
        "tt.core.dispatch.intercept.tt_function": (
            "NOT_HANDLED call_overrides flat intercept listening seen unseen"
        ),
        "tt.core.dispatch.call.mutation": "targets_of with_targets_of",
        "tt.core.dispatch.mutate.overlap": "shares_memory",
        "tt.core.dispatch.registry.masking": "mask_kernels",
        "tt.core.dispatch.registry.registry": (
            "PluginRegistry Provider REGISTRY RegistrationHandle Registry ops"
        ),
        "tt.core.dispatch.registry.tables": "CompositeTable Kernel KernelTable LazyKernelTable",
        "tt.core.dispatch.resolve.fallback": "fallback_policy set_fallback_policy",
        "tt.core.family_index": "FamilyIndex family_modules",
        "tt.core.forks": "fork_safe_lock fork_safe_properties",
        "tt.core.hooks": "Manifest hookimpl",
        "tt.core.layers.composed_backend": "ComposedBackend",
        "tt.core.layers.fake": "FakeMode",
        "tt.core.layers.pytree": "children_of tree_flatten tree_unflatten",
        "tt.core.layers.tt_dispatch": "TTDispatchMode",
        "tt.core.meta": "MetaHandle run_rule",
        "tt.core.methods.as_subclass": "as_kind",
        "tt.core.methods.creation": "as_tensor",
        "tt.core.methods.memory.host_access": "handle_of",
        "tt.core.methods.memory.host_storage": "tensor_in_storage",
        "tt.core.methods.memory.sharing": "reduce_shared",
        "tt.core.methods.tt_function_api": "TTFunctionMode is_tensor_like mark_overridable overridable",
        "tt.core.schema.model": "Argument OpDefinition Signature",
        "tt.core.shapes": "Result",
        "tt.core.shapes.geometry": "dense_strides view_strides",
        "tt.core.tensor.backend": "Backend contiguous_strides is_non_overlapping_and_dense",
        "tt.core.tensor.base": "TensorBase TensorSpec begin_epoch",
        "tt.core.tensor.device_interface": "DeviceInterface DeviceProperties",
        "tt.core.tensor.generator": "Generator default_states reserve set_default_states",
        "tt.core.tensor.shared_memory": (
            "get_all_sharing_strategies get_sharing_strategy set_sharing_strategy"
        ),
        "tt.core.tensor.storage": "Storage",
        "tt.core.tensor.tensor": "Tensor alias wrap",
        "tt.core.types.attention_choice": "ATTENTION",
        "tt.core.types.carried": "Carried state_of_thread",
        "tt.core.types.complex32": "decode_complex32 encode_complex32 is_complex32",
        "tt.core.types.determinism": "DETERMINISM",
        "tt.core.types.device": "Device get_default_device",
        "tt.core.types.dtype": "ALL_DTYPES DTYPES QUANTIZED STORED dtype from_numpy_dtype to_dtype",
        "tt.core.types.float8": "decode_float8 encode_float8 is_float8",
        "tt.core.types.freedom": "degrees_of_freedom",
        "tt.core.types.keys": "KEYS OVERRIDDEN",
        "tt.core.types.layout": "layout layout_name register_layout",
        "tt.core.types.memory_format": "order_of_strides",
        "tt.core.types.promotion": "get_default_dtype promote_types result_type",
        "tt.core.types.scalars": "Scalar fitted_number",
        "tt.core.types.size": "Size",
        "tt.core.types.state": "STATE",
        "tt.core.types.user_warnings": "warn_user",
    },
)
