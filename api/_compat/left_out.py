"""Names of PyTorch that tt leaves out on purpose, with the reason and what to use; docs/differences.md prints them.

`tt port` and the errors for unknown names of `tt` and of tensors read this table, and a test compares it with PyTorch's
names.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

__all__ = ["LEFT_OUT", "LeftOut", "left_out"]


@dataclass(frozen=True)
class LeftOut:
    """Some names that are left out for one reason.

    Attributes
    ----------
    names : tuple of str
        Patterns of names below `torch`: `*` stands for any letters, and a module for all that it holds.
    reason : str
        Why they are left out.
    instead : str
        What to use.
    """

    names: tuple[str, ...]
    reason: str
    instead: str


def _row(names: str, reason: str, instead: str) -> LeftOut:
    return LeftOut(tuple(names.split()), reason, instead)


LEFT_OUT: Final = (
    _row(
        "quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_rnn_* quantization ao "
        "nn.quantized nn.qat nn.quantizable nn.intrinsic",
        "layers of quantized numbers take weights that are packed for one vendor's library",
        "q.dequantize(), and the layer for real numbers",
    ),
    _row(
        "bit bits* uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 "
        "float4_e2m1fn_x2 quint4x2 quint2x4 QUInt4x2Storage QUInt2x4Storage",
        "PyTorch has no arithmetic for dtypes of less than a byte",
        "tt.uint8 and shifts",
    ),
    _row(
        "mkldnn_* Tensor.to_mkldnn cudnn_affine_* cudnn_batch_norm cudnn_convolution* cudnn_grid_* miopen_* "
        "fbgemm_*",
        "entries of one vendor's library, which programs do not call",
        "the operator without the prefix: tt.nn.functional.conv2d, batch_norm, ctc_loss, ...",
    ),
    _row(
        "xpu mtia mps mtia.*",
        "devices that no backend serves",
        "tt.device of an installed backend; docs/backends.md adds one",
    ),
    _row(
        "ThroughputBenchmark BenchmarkConfig BenchmarkExecutionStats AggregationType AVG SUM "
        "utils.benchmark.*Callgrind* utils.benchmark.Fuzz* utils.benchmark.FunctionCount* "
        "utils.benchmark.ParameterAlias monitor",
        "measurement inside of PyTorch's C++",
        "tt.utils.benchmark.Timer, tt.trace_calls",
    ),
    _row(
        "Script* *ScriptModule* ScriptModule* AliasDb *Type Argument ArgumentSpec "
        "Block CallStack Capsule Code CompilationUnit CompleteArgumentSpec ConcreteModule* "
        "DeepCopyMemoTable DeserializationStorageContext SerializationStorageContext ErrorReport "
        "ExecutionPlan FileCheck FunctionSchema Gradient Graph GraphExecutorState IODescriptor "
        "JITException LockingLogger NoopLogger LoggerBase Node OperatorInfo PyTorchFile* StaticModule "
        "TracingState Use Value import_ir_module* merge_type_from_type_comment "
        "parse_ir parse_schema parse_type_comment unify_type_list cpp classes BufferDict ModuleDict "
        "ParameterDict FatalError nn.functional.boolean_dispatch nn.functional.BroadcastingList*",
        "TorchScript and its internals do not exist",
        "the function or module itself, which runs as Python",
    ),
    _row(
        "export onnx SymInt SymFloat SymBool",
        "programs are not exported; shapes are plain integers",
        "tt.fx.symbolic_trace; tt.trace_calls, which shows the operators of a program",
    ),
    _row(
        "cuda.*Storage",
        "storages with a dtype are deprecated; only those on the CPU exist",
        "tensors, x.untyped_storage() and tt.UntypedStorage",
    ),
    _row(
        "Tensor.index",
        "dimensions as objects are a prototype",
        "indexing; tt.einsum",
    ),
    _row(
        "eig symeig solve lstsq matrix_rank Tensor.eig Tensor.symeig Tensor.solve Tensor.lstsq",
        "removed from PyTorch: the names raise there",
        "tt.linalg.eig, eigh, solve, lstsq and matrix_rank",
    ),
    _row(
        "Tensor.reinforce Tensor.volatile Tensor.name",
        "without a use in PyTorch: they raise, warn, or are None",
        "tt.distributions, tt.no_grad(), an attribute of your own",
    ),
    _row(
        "nn.functional.*torch_function*",
        "names that leak from another module of PyTorch",
        "tt.overrides, where they are",
    ),
    _row(
        "overrides.enable_reentrant_dispatch overrides.redispatch_function",
        "what runs below a tensor-like is chosen by a call, not by a state of the thread",
        "tt.DisableTTFunctionSubclass and super().__torch_function__: docs/tensor-likes.md",
    ),
    _row(
        "sparse.SparseSemiStructured* sparse.to_sparse_semi_structured Tensor.grad_dtype slice_inverse "
        "Tensor.slice_inverse",
        "prototypes",
        "dense tensors; gradients of the tensor's dtype; tt.as_strided",
    ),
    _row(
        "get_file_path prepare_multiprocessing_environment torch_version",
        "names that leak from PyTorch's modules",
        "tt.__version__",
    ),
    _row(
        "autograd.profiler.emit_itt "
        "autograd.profiler.*_nvprof* autograd.profiler.EnforceUnique autograd.profiler.KinetoStepTracker "
        "autograd.profiler.EventList autograd.profiler.FunctionEvent autograd.profiler.MemRecordsAcc "
        "autograd.profiler_legacy autograd.profiler_util",
        "a profiler is not built yet",
        "tt.trace_calls, tt.utils.benchmark.Timer, tt.cuda.nvtx",
    ),
    _row(
        "utils.bundled_inputs utils.mobile_optimizer utils.jit utils.model_dump utils.show_pickle utils.backcompat "
        "utils.throughput_benchmark utils.ThroughputBenchmark jit.ScriptFunction jit.CompilationUnit "
        "jit.Attribute jit.Error jit.enable_onednn_fusion jit.onednn_fusion_enabled jit.export_opnames jit.freeze "
        "jit.load jit.save jit.optimize_for_inference jit.set_fusion_strategy jit.strict_fusion "
        "jit.trace_module testing.FileCheck nn.cpp",
        "what serves TorchScript and PyTorch's C++, which do not exist",
        "the function or module itself; tt.save of a state dict",
    ),
    _row(
        "utils.mkldnn backends.mkl.verbose backends.nnpack.flags backends.nnpack.set_flags "
        "backends.cusparselt.version backends.cusparselt.get_max_alg_id backends.mps.get_* backends.mps.is_macos* "
        "backends.xeon backends.miopen backends.python_native backends.quantized backends.xnnpack "
        "cuda.tunable cuda.gds",
        "settings of libraries and machines that tt does not use",
        "is_available of the library, which says so",
    ),
    _row(
        "backends.cuda.preferred_*_library backends.cuda.*workspace_size backends.cuda.is_ck_sdpa_available "
        "backends.cuda.SDPAParams backends.cuda.can_use_*_attention backends.cuda.cuBLASModule "
        "backends.cuda.cuFFTPlanCache* backends.cuda.cufft_plan_cache",
        "CuPy chooses the libraries of CUDA and keeps their plans and memory",
        "tt.backends.cuda.matmul; `tt ops explain`, which says which kernel serves a call",
    ),
    _row(
        "cuda.green_contexts cuda.GreenContext cuda.CudaError cuda.DeferredCudaCallError cuda.check_error "
        "cuda.cudaStatus cuda.cudart cuda.current_*_handle cuda.get_arch_list cuda.get_gencode_flags cuda.has_half "
        "cuda.has_magma cuda.StreamContext cpu.StreamContext cuda.sparse "
        "cuda.jiterator",
        "PyTorch's own binding of CUDA, and what it was compiled with",
        "CuPy: cupy.cuda.runtime, cupy.ElementwiseKernel; `with stream:`; tt.cuda.get_device_capability",
    ),
    _row(
        "cuda.MemPool cuda.use_mem_pool cuda.caching_allocator_enable cuda.caching_allocator_disabled "
        "cuda.*host_memory_stats* cuda.max_memory_cached cuda.memory_cached cuda.reset_max_memory_* "
        "cuda.memory.MemPool cuda.memory.use_mem_pool cuda.memory.caching_allocator_enable "
        "cuda.memory.caching_allocator_disabled cuda.memory.*host_memory_stats* cuda.memory.max_memory_cached "
        "cuda.memory.memory_cached cuda.memory.reset_max_memory_* accelerator.*empty_host_cache "
        "accelerator.memory.empty_host_cache",
        "one pool keeps the memory of a device, that of the host has none; deprecated names",
        "tt.cuda.memory_reserved, reset_peak_memory_stats, set_cache_limit; tt.cuda.change_current_allocator",
    ),
    _row(
        "cuda.nccl",
        "collectives of one process",
        "tt.nn.parallel.comm, tt.distributed",
    ),
    _row(
        "accelerator.Graph accelerator.graphs autograd.graph.set_override_stale_capture_stream "
        "autograd.graph.set_warn_on_accumulate_grad_stream_mismatch "
        "autograd.graph.region_activation_memory_budget "
        "autograd.enforce_grad_layout_policy autograd.grad_mode.enforce_grad_layout_policy "
        "func.debug_unwrap nn.attention.varlen nn.attention.flex_attention.FlexKernelOptions "
        "sparse.semi_structured numa",
        "prototypes",
        "tt.cuda.CUDAGraph, nested tensors, `tt env`",
    ),
    _row(
        "autograd.NestedIOFunction autograd.function.NestedIOFunction autograd.function.BackwardCFunction "
        "autograd.function.FunctionMeta autograd.gradcheck.get_* "
        "utils.checkpoint.GraphExecGroup utils.checkpoint.DefaultDeviceType utils.checkpoint.SAC_IGNORED_OPS "
        "nn.utils.spectral_norm.*Hook nn.attention.WARN_FOR_UNFUSED_KERNELS nn.parallel.parallel_apply.get_a_var "
        "amp.autocast_mode.autocast_decorator",
        "the inside of PyTorch's functions, which tt builds otherwise",
        "the functions: tt.autograd.Function, gradcheck, checkpoint, tt.nn.utils.spectral_norm, ...",
    ),
    _row(
        "cpu.amp.autocast_mode cpu.amp.grad_scaler cuda.amp.autocast_mode cuda.amp.common cuda.amp.grad_scaler "
        "cuda.amp.amp_definitely_not_available masked.maskedtensor",
        "modules inside of packages that have their names",
        "tt.amp, tt.cpu.amp, tt.cuda.amp, tt.masked",
    ),
    _row(
        "DispatchKey* ExcludeDispatchKeyGuard library.fallthrough_kernel "
        "library.triton_op library.wrap_triton",
        "the keys of PyTorch's dispatcher do not exist: layers and plugins take their place",
        "tt.library.Layer; docs/plugins.md",
    ),
    _row(
        "package",
        "files hold no code",
        "tt.save of a state dict; a package of Python's",
    ),
    _row(
        "Tag",
        "tags of operators are plain text",
        'tt.library.custom_op(..., tags="pointwise"); `tt ops show`',
    ),
    _row(
        "serialization.SourceChangeWarning serialization.StorageType serialization.check_module_version_* "
        "serialization.mkdtemp serialization.normalize_storage_type serialization.storage_to_tensor_type "
        "serialization.validate_*_device utils.set_module utils.backend_registration "
        "utils.rename_privateuse1_backend utils.generate_methods_for_privateuse1_backend utils.get_cpp_backtrace "
        "utils.cpp_backtrace utils.debug_log utils.file_baton utils.hipify utils.collect_env.SystemEnv "
        "utils.collect_env.run* utils.collect_env.get_[!ep]* utils.collect_env.get_pip_packages "
        "utils.collect_env.get_platform utils.collect_env.get_python_platform utils.collect_env.check_release_file "
        "utils.collect_env.is_xnnpack_available utils.collect_env.pretty_str utils.flop_counter.*_flop "
        "utils.flop_counter.*_flop_count utils.flop_counter.convert_* utils.flop_counter.get_s* "
        "utils.flop_counter.normalize_tuple utils.flop_counter.shape_wrapper nn.factory_kwargs",
        "names that PyTorch's own modules use",
        "tt.save and tt.load; `tt env`; docs/backends.md, which adds a device under its own name",
    ),
    _row(
        "utils.data.datapipes utils.data.DFIterDataPipe utils.data.DataChunk utils.data.IterDataPipe "
        "utils.data.MapDataPipe utils.data.argument_validation utils.data.functional_datapipe "
        "utils.data.guaranteed_datapipes_determinism utils.data.non_deterministic utils.data.runtime_validation* "
        "utils.data.backward_compatibility utils.data.graph utils.data.graph_settings",
        "PyTorch has ended the development of data pipes",
        "tt.utils.data.IterableDataset, generators",
    ),
    _row(
        "utils.benchmark.ordered_unique utils.benchmark.set_torch_threads utils.benchmark.examples "
        "utils.benchmark.op_fuzzers utils.benchmark.utils",
        "the inside of PyTorch's benchmarks",
        "tt.utils.benchmark.Timer, Measurement and Compare",
    ),
    _row(
        "multiprocessing.pool.clean_worker multiprocessing.pool.SimpleQueue multiprocessing.queue "
        "multiprocessing.reductions.rebuild_* multiprocessing.reductions.reduce_*tensor "
        "multiprocessing.reductions.reduce_event multiprocessing.reductions.reduce_typed_* "
        "multiprocessing.reductions.*hared*ache multiprocessing.reductions.StorageWeakRef "
        "multiprocessing.reductions.fd_id multiprocessing.reductions.storage_from_cache",
        "the inside of PyTorch's processes",
        "tt.multiprocessing, whose queues and pools share tensors",
    ),
    _row(
        "utils.cpp_extension.BuildExtension utils.cpp_extension.C*Extension utils.cpp_extension.SyclExtension "
        "utils.cpp_extension.library_paths utils.cpp_extension.*ninja* utils.cpp_extension.*compiler* "
        "utils.cpp_extension.get_default_build_root",
        "extensions are C without PyTorch's headers: no build of setuptools, no libraries to link",
        "tt.utils.cpp_extension.load and load_inline",
    ),
    _row(
        "compiler.get_default_backend compiler.set_default_backend compiler.keep_* compiler.skip_* "
        "compiler.*_cache_artifacts compiler.load_compiled_function compiler.nested_compile_region "
        "compiler.set_enable_guard_collectives compiler.config compiler.set_stance "
        "compiler.substitute_in_graph compiler.wrap_numpy",
        "settings of a compiler, which is not built yet",
        "nothing: programs run as Python",
    ),
    _row("compile compiler.compile", "a compiler is not built yet", "the function or module itself"),
    _row("Future", "the base class in C++ of PyTorch's futures", "tt.futures.Future"),
    _row(
        "distributed.rpc rpc distributed.autograd distributed.remote_device",
        "functions are not called in other processes",
        "tt.distributed, its messages of objects",
    ),
    _row(
        "distributed.*Options distributed.ProcessGroupGloo distributed.Reducer distributed.Logger",
        "classes of PyTorch's C++, and arguments of their methods",
        "the functions of tt.distributed, whose arguments they hold, and DistributedDataParallel",
    ),
    _row(
        "distributed.fsdp.*Config distributed.fsdp.StateDict* distributed.fsdp.OptimStateKeyType",
        "a state dict has one form: whole, with the names and shapes of the module alone",
        "model.state_dict(); tt.distributed.checkpoint.state_dict, whose options cover the others",
    ),
    _row(
        "distributed.fsdp.DataParallelMeshDims distributed.fsdp.UnshardHandle distributed.fsdp.share_comm_ctx "
        "distributed.fsdp.register_fsdp_forward_method",
        "prototypes, and helpers of one engine",
        "a mesh with named dimensions; FSDPModule.unshard(); the module's forward",
    ),
    _row(
        "distributed.optim.DistributedOptimizer distributed.optim.as_functional_optim",
        "optimizers of parameters in other processes",
        "tt.distributed.optim.ZeroRedundancyOptimizer",
    ),
    _row(
        "distributed.tensor distributed.pipelining",
        "tensors are divided along their first dimension, and pipelines of ranks do not exist",
        "tt.distributed.fsdp.fully_shard; tt.distributed.isend and irecv between the stages",
    ),
    _row(
        "distributed.shrink_group",
        "a prototype for one engine",
        "tt.distributed.new_group of the ranks that are left; tt run --nnodes=1:4, which starts the job again",
    ),
    _row(
        "distributed.GroupName distributed.RankType distributed.log distributed.timedelta",
        "names that leak from PyTorch's modules of distributed programs",
        "int, logging.getLogger, datetime.timedelta",
    ),
)
"""All of them."""


def left_out(name: str) -> LeftOut | None:
    """Return the row of a name below `torch`, or None if it is not left out on purpose.

    Examples
    --------
    >>> from tt._compat.left_out import left_out
    >>> left_out("onnx.export").instead
    'tt.fx.symbolic_trace; tt.trace_calls, which shows the operators of a program'
    >>> left_out("matmul") is None
    True
    """
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        whole = ".".join(parts[:count])
        for row in LEFT_OUT:
            if any(fnmatchcase(whole, p) for p in row.names if p.count(".") == whole.count(".")):
                return row
    return None
