"""The modules in which PyTorch has the classes and functions that tt has elsewhere.

Names in files and, where `import torch` gives tt, names of classes are PyTorch's.  What lies in the module of the same
path, `tt.nn.modules.linear` and `torch.nn.modules.linear`, has no row.  Where PyTorch says a module that tt lacks, the
row has a module in which PyTorch, too, has the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

__all__ = ["HIDDEN", "HOMES", "PACKAGES", "home_in_torch", "homes_in_tt"]

HIDDEN: Final = frozenset({
    "array_api", "as_torch", "cli", "core", "errors", "examples", "operators", "plugins", "port", "thirdparty",
})  # fmt: skip
"""Modules of tt that PyTorch lacks."""
PACKAGES: Final = frozenset({"torch", "functorch", "torchgen"})
"""The packages that PyTorch's distribution brings."""
_WITHOUT_RULE: Final = HIDDEN | {"_compat", "_functions", "backends"}
"""Folders from which tt's public names come, and whose modules PyTorch lacks: only rows say where it has a name."""

HOMES: Final[Mapping[str, Mapping[str, str]]] = {
    "tt._compat.build_facts": {"torch": "compiled_with_cxx11_abi"},
    "tt._compat.checks": {
        "torch": (
            "_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type "
            "_check_value"
        ),
    },
    "tt._compat.torch.compiling": {"torch": "compile"},
    "tt._compat.torch.torch_version": {"torch.torch_version": "TorchVersion"},
    "tt._compat.typed_storages": {"torch": "StorageBase"},
    "tt._compat.typed_tensors": {"torch": "set_default_tensor_type"},
    "tt._functions.control_flow": {
        "torch": (
            "cond sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum while_loop"
        ),
    },
    "tt._functions.determinism": {
        "torch": (
            "are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision "
            "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode "
            "set_float32_matmul_precision set_warn_always use_deterministic_algorithms"
        ),
    },
    "tt._functions.inquiries": {"torch": "is_storage typename"},
    "tt.autograd._saved_mutation": {"torch.autograd.graph": "allow_mutation_on_saved_tensors"},
    "tt.backends.cpu": {"torch.backends.cpu": "get_cpu_capability"},
    "tt.backends.cuda.memory.memory_snapshot": {
        "torch.cuda.memory": "_dump_snapshot _record_memory_history _snapshot",
    },
    "tt.backends.cuda.memory.pluggable": {
        "torch.cuda.memory": "CUDAPluggableAllocator change_current_allocator get_allocator_backend",
    },
    "tt.backends.cuda.runtime.attention_flags": {
        "torch.backends.cuda": (
            "allow_fp16_bf16_reduction_math_sdp cudnn_sdp_enabled enable_cudnn_sdp enable_flash_sdp "
            "enable_math_sdp enable_mem_efficient_sdp flash_sdp_enabled fp16_bf16_reduction_math_sdp_allowed "
            "is_flash_attention_available math_sdp_enabled mem_efficient_sdp_enabled sdp_kernel"
        ),
    },
    "tt.backends.cuda.runtime.graphed_callables": {"torch.cuda.graphs": "make_graphed_callables"},
    "tt.backends.cuda.runtime.graphs": {
        "torch.cuda.graphs": "CUDAGraph graph graph_pool_handle is_current_stream_capturing",
    },
    "tt.backends.cuda.runtime.interface": {
        "torch.cuda": (
            "get_stream_from_external get_sync_debug_mode ipc_collect is_bf16_supported is_tf32_supported "
            "set_sync_debug_mode"
        ),
        "torch.cuda.memory": "caching_allocator_alloc caching_allocator_delete",
    },
    "tt.backends.cuda.runtime.monitor": {
        "torch.cuda": "clock_rate device_memory_used memory_usage power_draw temperature utilization",
        "torch.cuda.memory": "list_gpu_processes",
    },
    "tt.backends.cuda.runtime.nvtx": {
        "torch.autograd.profiler": "emit_nvtx",
        "torch.cuda.nvtx": "mark range range_end range_pop range_push range_start",
    },
    "tt.backends.cuda.runtime.profiling": {"torch.cuda.profiler": "profile start stop"},
    "tt.backends.cuda.runtime.settings": {"torch.backends.cuda": "is_built"},
    "tt.backends.cusparselt": {"torch.backends.cusparselt": "is_available"},
    "tt.backends.kleidiai": {"torch.backends.kleidiai": "is_available"},
    "tt.backends.mha": {"torch.backends.mha": "get_fastpath_enabled set_fastpath_enabled"},
    "tt.backends.mkl": {"torch.backends.mkl": "is_available"},
    "tt.backends.mps": {"torch.backends.mps": "is_built"},
    "tt.backends.nnpack": {"torch.backends.nnpack": "is_available"},
    "tt.backends.openmp": {"torch.backends.openmp": "is_available"},
    "tt.core.custom_op.infer_schema": {"torch.library": "infer_schema"},
    "tt.core.custom_op.kernel_snapshot": {"torch.library": "get_kernel"},
    "tt.core.custom_op.library": {
        "torch.library": (
            "define impl_abstract register_autocast register_autograd register_fake "
            "register_tt_dispatch=register_torch_dispatch register_vmap"
        ),
    },
    "tt.core.devices.accelerator": {
        "torch.accelerator": (
            "current_device_index current_stream device_count device_index is_available set_device_index "
            "set_stream synchronize"
        ),
        "torch.accelerator.memory": (
            "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
            "memory_reserved memory_stats reset_accumulated_memory_stats reset_peak_memory_stats"
        ),
    },
    "tt.core.devices.streams": {"torch": "Event Stream"},
    "tt.core.dispatch.intercept.tt_function": {
        "torch": (
            "DisableTTFunction=DisableTorchFunction DisableTTFunctionSubclass=DisableTorchFunctionSubclass"
        ),
    },
    "tt.core.dispatch.registry.accelerators": {"torch.accelerator": "current_accelerator"},
    "tt.core.errors": {
        "torch": "DeviceError=AcceleratorError OutOfMemoryError",
        "torch.autograd.gradcheck": "GradcheckError",
        "torch.linalg": "LinAlgError",
        "torch.utils.checkpoint": "CheckpointError",
    },
    "tt.core.extension.build": {"torch.utils.cpp_extension": "include_paths"},
    "tt.core.extension.inline": {"torch.utils.cpp_extension": "load load_inline"},
    "tt.core.layers.pytree": {
        "torch.utils._pytree": (
            "GetAttrKey LeafSpec MappingKey NodeDef SequenceKey TreeSpec "
            "deregister_pytree_node=_deregister_pytree_node register_pytree_node tree_any tree_flatten "
            "tree_leaves tree_map tree_map_only tree_unflatten"
        ),
    },
    "tt.core.layers.pytree_text": {"torch.utils._pytree": "treespec_dumps treespec_pprint"},
    "tt.core.layers.tt_dispatch": {
        "torch.utils._python_dispatch": (
            "TTDispatchMode=TorchDispatchMode _disable_current_modes _get_current_dispatch_mode "
            "_get_current_dispatch_mode_stack is_in_torch_dispatch_mode is_traceable_wrapper_subclass "
            "is_traceable_wrapper_subclass_type return_and_correct_aliasing transform_subclass"
        ),
    },
    "tt.core.methods.creation": {"torch.utils.dlpack": "from_dlpack"},
    "tt.core.methods.overridable": {
        "torch.overrides": "get_overridable_functions is_tensor_method_or_property resolve_name",
    },
    "tt.core.methods.parameter": {"torch.nn.parameter": "Parameter"},
    "tt.core.methods.printing": {"torch": "set_printoptions"},
    "tt.core.methods.tt_function_api": {
        "torch.overrides": (
            "BaseTTFunctionMode=BaseTorchFunctionMode TTFunctionMode=TorchFunctionMode "
            "_get_current_function_mode _get_current_function_mode_stack "
            "handle_tt_function=handle_torch_function is_tensor_like wrap_tt_function=wrap_torch_function"
        ),
    },
    "tt.core.methods.typed_storage": {"torch.storage": "TypedStorage"},
    "tt.core.tensor.generator": {
        "torch": "Generator",
        "torch.random": "get_rng_state initial_seed manual_seed seed set_rng_state",
    },
    "tt.core.tensor.shared_memory": {
        "torch.multiprocessing": "get_all_sharing_strategies get_sharing_strategy set_sharing_strategy",
    },
    "tt.core.tensor.tensor": {"torch": "Tensor"},
    "tt.core.types.device": {"torch": "Device=device get_default_device set_default_device"},
    "tt.core.types.dtype": {"torch": "dtype finfo iinfo"},
    "tt.core.types.layout": {"torch": "layout"},
    "tt.core.types.memory_format": {"torch": "memory_format"},
    "tt.core.types.promotion": {"torch": "set_default_dtype"},
    "tt.core.types.size": {"torch": "Size"},
    "tt.cuda": {"torch.cuda.streams": "Event Stream"},
    "tt.distributed.algorithms.ddp_comm_hooks.registration": {
        "torch.distributed.algorithms.ddp_comm_hooks": "DDPCommHookType register_ddp_comm_hook",
    },
    "tt.distributed.backend": {"torch.distributed": "Backend"},
    "tt.distributed.breakpoints": {"torch.distributed": "breakpoint"},
    "tt.distributed.checkpoint.saving": {"torch.distributed.checkpoint": "async_save load save"},
    "tt.distributed.collectives": {
        "torch.distributed": (
            "_coalescing_manager all_reduce all_reduce_coalesced barrier broadcast monitored_barrier reduce"
        ),
    },
    "tt.distributed.debug_level": {"torch.distributed": "DebugLevel"},
    "tt.distributed.engines.names": {"torch.distributed": "BackendConfig"},
    "tt.distributed.errors": {
        "torch.distributed": ("DistBackendError DistError DistNetworkError DistStoreError QueueEmptyError"),
    },
    "tt.distributed.exchanging": {
        "torch.distributed": (
            "all_to_all all_to_all_single reduce_scatter reduce_scatter_single reduce_scatter_tensor"
        ),
    },
    "tt.distributed.fsdp.fully_shard": {"torch.distributed.fsdp": "FSDPModule fully_shard"},
    "tt.distributed.fsdp.policies": {
        "torch.distributed.fsdp": (
            "BackwardPrefetch CPUOffload CPUOffloadPolicy MixedPrecision MixedPrecisionPolicy OffloadPolicy "
            "ShardingStrategy"
        ),
    },
    "tt.distributed.fsdp.sharded_parameter": {"torch.distributed.checkpoint.state_dict": "ShardedTensor"},
    "tt.distributed.gathering": {
        "torch.distributed": (
            "all_gather all_gather_coalesced all_gather_into_tensor all_gather_single gather scatter"
        ),
    },
    "tt.distributed.new_groups": {
        "torch.distributed": "new_group new_subgroups new_subgroups_by_enumeration split_group",
    },
    "tt.distributed.objects": {
        "torch.distributed": (
            "all_gather_object broadcast_object_list gather_object recv_object_list scatter_object_list "
            "send_object_list"
        ),
    },
    "tt.distributed.point_to_point": {"torch.distributed": "P2POp batch_isend_irecv irecv isend recv send"},
    "tt.distributed.process_group": {"torch.distributed": "ProcessGroup"},
    "tt.distributed.ranks": {
        "torch.distributed": (
            "get_backend get_backend_config get_default_backend_for_device get_global_rank get_group_rank "
            "get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size is_available "
            "is_backend_available is_gloo_available is_mpi_available is_nccl_available is_torchelastic_launched "
            "is_ucc_available is_xccl_available"
        ),
    },
    "tt.distributed.recorder": {"torch.distributed": "record_comm"},
    "tt.distributed.reduce_op": {"torch.distributed": "ReduceOp"},
    "tt.distributed.reducer": {"torch.distributed": "BuiltinCommHookType GradBucket"},
    "tt.distributed.reductions": {"torch.distributed": "supports_complex"},
    "tt.distributed.run.launch": {"torch.distributed.run": "main"},
    "tt.distributed.run.options": {"torch.distributed.run": "parse_args"},
    "tt.distributed.stores.file_store": {"torch.distributed": "FileStore"},
    "tt.distributed.stores.hash_store": {"torch.distributed": "HashStore"},
    "tt.distributed.stores.prefix_store": {"torch.distributed": "PrefixStore"},
    "tt.distributed.stores.store": {"torch.distributed": "Store"},
    "tt.distributed.stores.tcp_store": {"torch.distributed": "TCPStore"},
    "tt.distributed.work": {"torch.distributed": "Work"},
    "tt.distributed.world": {
        "torch.distributed": "GroupMember destroy_process_group group init_process_group is_initialized",
    },
    "tt.distributions._constraints_base": {
        "torch.distributions.constraints": (
            "Constraint MixtureSameFamilyConstraint _Cat _Dependent _DependentProperty _IndependentConstraint "
            "_Stack is_dependent"
        ),
    },
    "tt.distributions._matrices": {
        "torch.distributions.multivariate_normal": (
            "batch_mahalanobis=_batch_mahalanobis batch_mv=_batch_mv"
        ),
    },
    "tt.distributions._transforms_base": {
        "torch.distributions.transforms": "ComposeTransform IndependentTransform Transform",
    },
    "tt.distributions._transforms_elementwise": {
        "torch.distributions.transforms": (
            "AbsTransform AffineTransform CumulativeDistributionTransform ExpTransform PowerTransform "
            "SigmoidTransform SoftplusTransform TanhTransform"
        ),
    },
    "tt.distributions._transforms_vector": {
        "torch.distributions.transforms": (
            "CatTransform CorrCholeskyTransform LowerCholeskyTransform PositiveDefiniteTransform "
            "ReshapeTransform SoftmaxTransform StackTransform StickBreakingTransform"
        ),
    },
    "tt.func.batch_norm": {"torch.func": "replace_all_batch_norm_modules_"},
    "tt.func.functionalization": {"torch.func": "functionalize"},
    "tt.func.rearrangement": {"torch.func": "rearrange"},
    "tt.func.stateless": {"torch.func": "functional_call stack_module_state"},
    "tt.futures": {"torch.jit": "Future"},
    "tt.hub.files": {"torch.hub": "download_url_to_file get_dir load_state_dict_from_url set_dir"},
    "tt.hub.models": {"torch.hub": "help list load"},
    "tt.jit._script_module": {"torch.jit": "ScriptModule script_method"},
    "tt.masked.masked_tensor": {
        "torch.masked": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor",
    },
    "tt.masked.normalizations": {"torch.masked": "log_softmax logaddexp normalize softmax softmin"},
    "tt.masked.reductions": {
        "torch.masked": (
            "amax amin argmax argmin cumprod cumsum logsumexp mean median norm prod std sum var"
        ),
    },
    "tt.nn.attention.implementations": {
        "torch.nn.attention": (
            "activate_flash_attention_impl current_flash_attention_impl list_flash_attention_impls "
            "register_flash_attention_impl restore_flash_attention_impl"
        ),
    },
    "tt.nn.grouped_products": {
        "torch.nn.functional": "ScalingType SwizzleType grouped_mm scaled_grouped_mm scaled_mm",
    },
    "tt.nn.modules.adaptive_pooling": {
        "torch.nn.modules.pooling": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
            "AdaptiveMaxPool3d _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd"
        ),
    },
    "tt.nn.modules.attention": {"torch.nn.modules.activation": "MultiheadAttention"},
    "tt.nn.modules.classification_loss": {
        "torch.nn.modules.loss": (
            "CTCLoss CrossEntropyLoss LinearCrossEntropyLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss "
            "MultiMarginLoss NLLLoss NLLLoss2d"
        ),
    },
    "tt.nn.modules.convnd": {"torch.nn.modules.conv": "Conv1d Conv2d Conv3d _ConvNd"},
    "tt.nn.modules.embedding_loss": {
        "torch.nn.modules.loss": (
            "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss TripletMarginLoss "
            "TripletMarginWithDistanceLoss"
        ),
    },
    "tt.nn.modules.fractional_pooling": {
        "torch.nn.modules.pooling": "FractionalMaxPool2d FractionalMaxPool3d",
    },
    "tt.nn.modules.hooks": {
        "torch.nn.modules.module": (
            "register_module_backward_hook register_module_forward_hook register_module_forward_pre_hook "
            "register_module_full_backward_hook register_module_full_backward_pre_hook"
        ),
    },
    "tt.nn.modules.lazy_conv": {
        "torch.nn.modules.conv": (
            "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
        ),
    },
    "tt.nn.modules.loss_base": {"torch.nn.modules.loss": "_Loss _WeightedLoss"},
    "tt.nn.modules.parameter_containers": {"torch.nn.modules.container": "ParameterDict ParameterList"},
    "tt.nn.modules.rectifiers": {
        "torch.nn.modules.activation": ("CELU ELU Hardtanh LeakyReLU PReLU RReLU ReLU ReLU6 SELU Threshold"),
    },
    "tt.nn.modules.registration": {
        "torch.nn.modules.module": (
            "register_module_buffer_registration_hook register_module_module_registration_hook "
            "register_module_parameter_registration_hook"
        ),
    },
    "tt.nn.modules.regression_loss": {
        "torch.nn.modules.loss": (
            "BCELoss BCEWithLogitsLoss GaussianNLLLoss HuberLoss KLDivLoss L1Loss MSELoss PoissonNLLLoss "
            "SmoothL1Loss SoftMarginLoss"
        ),
    },
    "tt.nn.modules.rnn_cells": {"torch.nn.modules.rnn": "GRUCell LSTMCell RNNCell RNNCellBase"},
    "tt.nn.modules.softmax": {"torch.nn.modules.activation": "LogSoftmax Softmax Softmax2d Softmin"},
    "tt.nn.modules.state_dict": {"torch.nn.modules.module": "_IncompatibleKeys"},
    "tt.nn.modules.transformer_layers": {
        "torch.nn.modules.transformer": (
            "TransformerDecoderLayer TransformerEncoderLayer _get_activation_fn"
        ),
    },
    "tt.nn.modules.transposed_conv": {
        "torch.nn.modules.conv": "ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvTransposeNd",
    },
    "tt.nn.modules.traversal": {"torch.nn.modules.container": "_addindent"},
    "tt.nn.uninitialized": {
        "torch.nn.parameter": "UninitializedBuffer UninitializedParameter UninitializedTensorMixin",
    },
    "tt.nn.utils._pruning": {"torch.nn.utils.prune": "BasePruningMethod PruningContainer"},
    "tt.nn.utils.clip_grad": {"torch.nn.utils": "clip_grads_with_norm_ get_total_norm"},
    "tt.optim._adafactor": {"torch.optim": "Adafactor"},
    "tt.optim._muon": {"torch.optim": "Muon"},
    "tt.optim.lr_scheduler.base": {"torch.optim.lr_scheduler": "LRScheduler"},
    "tt.optim.lr_scheduler.composed": {"torch.optim.lr_scheduler": "ChainedScheduler SequentialLR"},
    "tt.optim.lr_scheduler.cosine": {
        "torch.optim.lr_scheduler": "CosineAnnealingLR CosineAnnealingWarmRestarts",
    },
    "tt.optim.lr_scheduler.cyclic": {"torch.optim.lr_scheduler": "CyclicLR OneCycleLR"},
    "tt.optim.lr_scheduler.factors": {
        "torch.optim.lr_scheduler": (
            "ConstantLR ExponentialLR LambdaLR LinearLR MultiStepLR MultiplicativeLR PolynomialLR StepLR"
        ),
    },
    "tt.optim.lr_scheduler.plateau": {"torch.optim.lr_scheduler": "ReduceLROnPlateau"},
    "tt.optim.swapping": {"torch.optim": "swap_in_optimizer_params_and_state"},
    "tt.plugins.autograd.backward.functional": {"torch.autograd": "backward grad"},
    "tt.plugins.autograd.backward.multi_hooks": {"torch.autograd.graph": "register_multi_grad_hook"},
    "tt.plugins.autograd.custom.function": {
        "torch.autograd.function": "Function FunctionCtx InplaceFunction once_differentiable",
    },
    "tt.plugins.autograd.features.anomaly": {
        "torch.autograd.anomaly_mode": "detect_anomaly set_detect_anomaly",
    },
    "tt.plugins.autograd.features.checkpoint": {
        "torch.utils.checkpoint": (
            "CheckpointFunction checkpoint checkpoint_sequential noop_context_fn set_checkpoint_debug_enabled "
            "set_checkpoint_early_stop"
        ),
    },
    "tt.plugins.autograd.features.jacobians": {
        "torch.autograd.functional": "hessian hvp jacobian jvp vhp vjp",
    },
    "tt.plugins.autograd.features.saved_hooks": {
        "torch.autograd.graph": "disable_saved_tensors_hooks save_on_cpu saved_tensors_hooks",
    },
    "tt.plugins.autograd.features.selective_checkpoint": {
        "torch.utils.checkpoint": (
            "CheckpointPolicy SelectiveCheckpointContext create_selective_checkpoint_contexts"
        ),
    },
    "tt.plugins.autograd.record.edges": {
        "torch.autograd.graph": "GradientEdge get_gradient_edge increment_version",
    },
    "tt.plugins.autograd.record.graph": {"torch.autograd.graph": "Node"},
    "tt.plugins.autograd.record.inference": {"torch.autograd.grad_mode": "inference_mode"},
    "tt.plugins.autograd.record.modes": {"torch.autograd.grad_mode": "enable_grad no_grad set_grad_enabled"},
    "tt.plugins.autograd.record.saved": {"torch.autograd": "SavedTensor"},
    "tt.plugins.autograd.transforms.forward_ad": {
        "torch.autograd.forward_ad": (
            "UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual"
        ),
    },
    "tt.plugins.autograd.transforms.functional": {"torch.func": "grad grad_and_value vmap"},
    "tt.plugins.autograd.transforms.jacobians": {"torch.func": "hessian jacfwd jacrev jvp linearize vjp"},
    "tt.plugins.nested.construct": {
        "torch.nested": "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged",
    },
    "tt.plugins.quantized.quantizer": {"torch": "qscheme"},
    "tt.plugins.sparse.check": {"torch.sparse": "check_sparse_tensor_invariants"},
    "tt.plugins.sparse.functions": {"torch.sparse": "sum"},
    "tt.serialization.rebuilding": {"torch.serialization": "_get_layout"},
    "tt.serialization.allow_list": {
        "torch.serialization": "add_safe_globals clear_safe_globals get_safe_globals safe_globals",
    },
    "tt.serialization.loading": {"torch.serialization": "load"},
    "tt.serialization.locations": {
        "torch.serialization": "default_restore_location location_tag register_package",
    },
    "tt.serialization.options": {
        "torch.serialization": (
            "LoadEndianness get_crc32_options get_default_load_endianness get_default_mmap_options "
            "set_crc32_options set_default_load_endianness set_default_mmap_options skip_data"
        ),
    },
    "tt.serialization.saving": {"torch.serialization": "save"},
    "tt.serialization.unsafe_globals": {"torch.serialization": "get_unsafe_globals_in_checkpoint"},
    "tt.sparse.gradcheck": {"torch.sparse": "as_sparse_gradcheck"},
    "tt.testing._allclose": {"torch.testing": "assert_allclose"},
    "tt.testing.compare": {"torch.testing": "assert_close"},
    "tt.testing.gradcheck.first": {"torch.autograd.gradcheck": "gradcheck"},
    "tt.testing.gradcheck.second": {"torch.autograd.gradcheck": "gradgradcheck"},
    "tt.testing.make_tensor": {"torch.testing": "make_tensor"},
    "tt.testing.opcheck.check": {"torch.library": "opcheck"},
    "tt.utils._pytree": {"torch.utils._pytree": "tree_is_leaf=_is_leaf"},
    "tt.utils.benchmark.compare": {"torch.utils.benchmark": "Colorize Compare"},
    "tt.utils.benchmark.measurement": {
        "torch.utils.benchmark": "Measurement TaskSpec select_unit trim_sigfig unit_to_english",
    },
    "tt.utils.benchmark.timer": {"torch.utils.benchmark": "Language Timer timer"},
    "tt.utils.checkpoint_states": {
        "torch.utils.checkpoint": (
            "check_backward_validity detach_variable get_device_states set_device_states"
        ),
    },
    "tt.utils.data.collate": {"torch.utils.data._utils.collate": "collate default_collate default_convert"},
    "tt.utils.data.iteration": {
        "torch.utils.data.dataloader": (
            "_BaseDataLoaderIter _MultiProcessingDataLoaderIter _SingleProcessDataLoaderIter"
        ),
    },
    "tt.utils.data.pin_memory": {"torch.utils.data._utils.pin_memory": "pin_memory"},
    "tt.utils.data.worker_info": {"torch.utils.data._utils.worker": "WorkerInfo get_worker_info"},
    "tt.utils.swap": {"torch.utils": "swap_tensors"},
}
"""Module of tt -> module of PyTorch -> names; `Device=device` has another name there."""


def mirrored(module: str) -> str | None:
    """Return PyTorch's module of the same path as one of tt, or None where there is none."""
    first, _, rest = module.partition(".")
    shim = rest.removeprefix("_compat.")
    if shim != rest and shim.partition(".")[0] in PACKAGES:
        return shim
    if first != "tt" or rest.partition(".")[0] in _WITHOUT_RULE:
        return None
    return f"torch.{rest}" if rest else "torch"


@cache
def _rows(module: str) -> dict[str, tuple[str, str]]:
    """Return what the table says of a module of tt: name there -> module and name in PyTorch."""
    rows = {}
    for home, names in HOMES.get(module, {}).items():
        for pair in names.split():
            own, _, other = pair.partition("=")
            rows[own] = (home, other or own)
    return rows


def home_in_torch(module: str, name: str) -> tuple[str, str] | None:
    """Return PyTorch's module and name of a class or function of tt, or None where none is known.

    Examples
    --------
    >>> from tt._compat.homes import home_in_torch
    >>> home_in_torch("tt.core.types.device", "Device"), home_in_torch("tt.nn.modules.linear", "Linear")
    (('torch', 'device'), ('torch.nn.modules.linear', 'Linear'))
    """
    row = _rows(module).get(name)
    if row is not None:
        return row
    home = mirrored(module)
    return None if home is None else (home, name)


@cache
def _by_torch() -> dict[tuple[str, str], tuple[str, str]]:
    return {theirs: (module, own) for module in HOMES for own, theirs in _rows(module).items()}


def homes_in_tt(module: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the modules and names under which tt may have a class or function of PyTorch's, the likeliest first.

    Examples
    --------
    >>> from tt._compat.homes import homes_in_tt
    >>> list(homes_in_tt("torch.nn.modules.conv", "Conv2d"))
    [('tt.nn.modules.convnd', 'Conv2d'), ('tt.nn.modules.conv', 'Conv2d')]
    """
    row = _by_torch().get((module, name))
    if row is not None:
        yield row
    first, dot, rest = module.partition(".")
    if first == "torch":
        yield f"tt{dot}{rest}", name
