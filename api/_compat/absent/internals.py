"""Internals of PyTorch: TorchScript, its types, its files, and parts of the core."""

from __future__ import annotations

from typing import Final

from tt._compat.absent.rows import table

__all__ = ["ABSENT"]

ABSENT: Final = [
    *table(
        "TorchScript does not exist in tt: functions and modules run as Python",
        {
            "torch": (
                "FloatType IntType OptionalType ScriptFunction ScriptModule StringType TensorType PyTorchFileReader "
                "PyTorchFileWriter"
            ),
            "torch._C": "Block FunctionSchema Graph Node ScriptFunction ScriptMethod ScriptModule TensorType Value",
            "torch.jit": (
                "Attribute CompilationUnit Error ScriptFunction _get_trace_graph freeze load "
                "optimize_for_inference save trace_module"
            ),
            "torch.jit._recursive": "wrap_cpp_module",
            "torch.jit._trace": "ONNXTracedModule TopLevelTracedModule TracedModule",
            "torch.jit.mobile": "_load_for_lite_interpreter",
            "torch.jit.quantized": "QuantizedLinear",
            "torch.utils.mobile_optimizer": "MobileOptimizerType optimize_for_mobile",
        },
    ),
    *table(
        "a part of PyTorch's own machinery, which tt does not have",
        {
            "torch": "set_vital:false",
            "torch.multiprocessing": "_get_thread_name _set_thread_name:none",
            "torch.nested._internal.nested_tensor": "NestedTensor ViewNestedFromBuffer",
            "torch.nested._internal.ops": "extract_kwargs",
            "torch.nn.utils._per_sample_grad": "call_for_per_sample_grads",
            "torch.numa.binding": "AffinityMode NumaOptions",
            "torch.utils._sympy.functions": "FloorDiv Mod",
            "torch.utils._sympy.numbers": "IntInfinity int_oo",
            "torch.utils._sympy.value_ranges": "ValueRanges bound_sympy",
            "torch.utils._triton": "has_triton:false has_triton_package:false has_triton_tma:false",
            "torch.utils.data.dataloader": "_sharding_worker_init_fn",
            # A loader of tt asks its workers whether they live, and leaves the signals of the process alone.
            "torch.utils.data._utils.signal_handling": (
                "_error_if_any_worker_fails:none _remove_worker_pids:none _set_SIGCHLD_handler:none "
                "_set_worker_pids:none _set_worker_signal_handlers:none"
            ),
        },
    ),
    *table(
        "tt has no data pipes",
        {
            "torch.utils.data": "DFIterDataPipe DataChunk IterDataPipe MapDataPipe",
            "torch.utils.data.datapipes._decorator": "functional_datapipe guaranteed_datapipes_determinism",
            "torch.utils.data.datapipes.datapipe": (
                "DFIterDataPipe DataChunk IterDataPipe MapDataPipe _IterDataPipeSerializationWrapper "
                "_MapDataPipeSerializationWrapper"
            ),
            "torch.utils.data.datapipes.iter": (
                "Batcher Collator Concater Demultiplexer FileLister FileOpener Filter Forker Grouper IterableWrapper "
                "Mapper Multiplexer Sampler ShardingFilter Shuffler StreamReader UnBatcher Zipper"
            ),
            "torch.utils.data.datapipes.iter.combinatorics": "SamplerIterDataPipe ShufflerIterDataPipe",
            "torch.utils.data.datapipes.iter.sharding": "SHARDING_PRIORITIES",
            "torch.utils.data.datapipes.map": "Batcher Concater Mapper SequenceWrapper Shuffler Zipper",
            "torch.utils.data.graph": "traverse traverse_dps",
            "torch.utils.data.graph_settings": "apply_random_seed apply_sharding apply_shuffle_settings",
        },
    ),
    *table(
        "tt has no meta converter or functionalization of its tensors for compilers",
        {
            "torch._subclasses.functional_tensor": (
                "FunctionalTensor FunctionalTensorMode disable_functional_mode mb_unwrap_functional_tensor"
            ),
            "torch._subclasses.meta_utils": "MetaConverter",
        },
    ),
    *table(
        "tt has no legacy or C++ profiler",
        {
            "torch.autograd": "_disable_profiler:none _profiler_enabled:false",
            "torch.autograd.profiler": "EventList FunctionEvent emit_itt",
            "torch.autograd.profiler_legacy": "profile",
            "torch.autograd.profiler_util": "EventList FunctionEvent FunctionEventAvg Kernel MemRecordsAcc",
            "torch.monitor": "Aggregation Event Stat log_event",
        },
    ),
    *table(
        "functorch was merged into torch.func: functional_call, stack_module_state",
        {
            "functorch": (
                "FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble functionalize "
                "make_functional make_functional_with_buffers make_fx"
            ),
            "functorch.compile": "aot_function aot_module make_boxed_func memory_efficient_fusion",
            "functorch.experimental": "functionalize",
        },
    ),
]
