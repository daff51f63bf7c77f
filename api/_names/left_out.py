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
        "jit.script jit.trace Script* *ScriptModule* ScriptModule* AliasDb *Type Argument ArgumentSpec "
        "Block CallStack Capsule Code CompilationUnit CompleteArgumentSpec ConcreteModule* "
        "DeepCopyMemoTable DeserializationStorageContext SerializationStorageContext ErrorReport "
        "ExecutionPlan FileCheck FunctionSchema Gradient Graph GraphExecutorState IODescriptor "
        "JITException LockingLogger NoopLogger LoggerBase Node OperatorInfo PyTorchFile* StaticModule "
        "TracingState Type Use Value import_ir_module* merge_type_from_type_comment "
        "parse_ir parse_schema parse_type_comment unify_type_list cpp classes BufferDict ModuleDict "
        "ParameterDict FatalError Tag nn.functional.boolean_dispatch nn.functional.BroadcastingList*",
        "TorchScript and its internals do not exist",
        "the function or module itself, which runs as Python",
    ),
    _row(
        "export fx onnx package SymInt SymFloat SymBool DispatchKey* ExcludeDispatchKeyGuard",
        "programs are not captured as graphs; shapes are plain integers",
        "tt.trace_calls, which shows the operators of a program",
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
        "DisableTorchFunction DisableTorchFunctionSubclass overrides.*torch_function* "
        "nn.functional.*torch_function* overrides.enable_reentrant_dispatch overrides.redispatch_function",
        "the protocol has tt's name",
        "tt.DisableTTFunctionSubclass and tt.overrides.has_tt_function, handle_tt_function, ...: docs/tensor-likes.md",
    ),
    _row(
        "sparse.SparseSemiStructured* sparse.to_sparse_semi_structured Tensor.grad_dtype slice_inverse "
        "Tensor.slice_inverse",
        "prototypes",
        "dense tensors; gradients of the tensor's dtype; tt.as_strided",
    ),
    _row(
        "ThroughputBenchmark BenchmarkConfig BenchmarkExecutionStats AggregationType AVG SUM "
        "utils.benchmark.*Callgrind* utils.benchmark.Fuzz* utils.benchmark.FunctionCount* "
        "utils.benchmark.ParameterAlias monitor profiler",
        "measurement inside of PyTorch's C++",
        "tt.utils.benchmark.Timer, tt.autograd.profiler",
    ),
    _row(
        "get_file_path prepare_multiprocessing_environment torch_version",
        "names that leak from PyTorch's modules",
        "tt.__version__",
    ),
    _row("compile compiler.compile", "a compiler is not built yet", "the function or module itself"),
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
    >>> from tt._names.left_out import left_out
    >>> left_out("fx.Graph.nodes").instead
    'tt.trace_calls, which shows the operators of a program'
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
