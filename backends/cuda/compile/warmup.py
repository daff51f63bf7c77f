"""Compiles the kernels that users run most before they are needed: `tt cuda warmup`.

Only an operator's table determines which kernels it launches, so the operators are called: on handles without memory,
with an engine that records the launches.  This needs no GPU.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.compile.cache import VARIABLE, cache_folder, kernel_key, read_kernel, write_kernel
from tt.backends.cuda.launch.programs import ProgramKernel
from tt.core.library import errors, to_dtype

__all__ = ["DTYPES", "Warmed", "common_kernels", "compile_all", "present_arch"]

DTYPES: Final = ("float32", "bfloat16", "float16")
"""Whose kernels are compiled by default."""

ROWS, COLUMNS = 256, 1024

# --- operators and their arguments ----------------------------------------------------------------------
# x and y have the dtype and 256 rows of 1024; `row` is one, `column` a number for each row, `turned` a transposed y,
# `pair` a list of both.  `rows` and `places` are int64: a number for each row, and for each element.  `images` has 8 of
# 16 channels, for each of which `channel` has a number; `heads` is attention's input, `logsumexp` its second result.

ONE: Final = (
    "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "neg", "abs", "square", "reciprocal", "relu",
    "silu", "isnan", "isfinite", "clone",
)  # fmt: skip
TWO: Final = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "eq", "ne", "lt", "le", "gt", "ge")
OTHERS: Final[tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...]] = (
    ("gelu", ("x",), {"approximate": "none"}), ("gelu", ("x",), {"approximate": "tanh"}),
    ("leaky_relu", ("x",), {"negative_slope": 0.01}), ("clamp", ("x",), {"min": 0.0, "max": 1.0}),
    ("where", ("mask", "x", "y"), {}), ("where", ("mask", "x"), {"other": 0.0}),
    ("lerp.Scalar", ("x", "y"), {"weight": 0.5}), ("addcmul", ("x", "y", "y"), {"value": 1}),
    ("addcdiv", ("x", "y", "y"), {"value": 1}), ("fill", ("x",), {"value": 0.0}), ("copy", ("x", "turned"), {}),
    ("gelu_backward", ("x", "y"), {"approximate": "none"}), ("silu_backward", ("x", "y"), {}),
    ("threshold_backward", ("x", "y"), {"threshold": 0.0}), ("sigmoid_backward", ("x", "y"), {}),
    ("tanh_backward", ("x", "y"), {}),
    ("softmax", ("x",), {"dim": -1}), ("log_softmax", ("x",), {"dim": -1}),
    ("_softmax_backward", ("x", "y"), {"dim": -1}), ("_log_softmax_backward", ("x", "y"), {"dim": -1}),
    ("sum", ("x",), {}), ("mean", ("x",), {}), ("sum.dim", ("x",), {"dim": [-1], "keepdim": False}),
    ("mean.dim", ("x",), {"dim": [-1], "keepdim": False}), ("sum.dim", ("x",), {"dim": [0], "keepdim": False}),
    ("amax", ("x",), {"dim": [-1], "keepdim": False}), ("argmax", ("x",), {"dim": -1, "keepdim": False}),
    ("cumsum", ("x",), {"dim": -1}),
    ("layer_norm", ("x",), {"normalized_shape": (COLUMNS,), "weight": "row", "bias": "row", "eps": 1e-5}),
    ("_layer_norm_backward", ("x", "y"), {"normalized_shape": (COLUMNS,), "weight": "row", "eps": 1e-5}),
    ("rms_norm", ("x",), {"normalized_shape": (COLUMNS,), "weight": "row", "eps": 1e-5}),
    ("group_norm", ("images",), {"num_groups": 4, "weight": "channel", "bias": "channel", "eps": 1e-5}),
    ("_batch_norm", ("images",), {
        "weight": "channel", "bias": "channel", "running_mean": "channel", "running_var": "channel", "training": True,
        "eps": 1e-5,
    }),
    ("_batch_norm_backward", ("images", "images"), {
        "weight": "channel", "mean": "channel", "var": "channel", "training": True, "eps": 1e-5,
    }),
    ("max_pool2d_with_indices", ("images",), {
        "kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False,
    }),
    ("avg_pool2d", ("images",), {
        "kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False, "count_include_pad": True,
        "divisor_override": None,
    }),
    ("_cross_entropy", ("x", "rows"), {
        "weight": None, "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0,
    }),
    ("_cross_entropy_backward", ("number", "x", "rows"), {
        "weight": None, "logsumexp": "rowwise", "ignore_index": -100, "reduction": "mean", "label_smoothing": 0.0,
    }),
    ("nll_loss", ("x", "rows"), {"weight": None, "ignore_index": -100, "reduction": "mean"}),
    ("_embedding", ("x", "rows"), {"padding_idx": -1, "scale_grad_by_freq": False, "sparse": False}),
    ("embedding_dense_backward", ("x", "rows"), {"num_weights": ROWS, "padding_idx": -1, "scale_grad_by_freq": False}),
    ("index_select", ("x",), {"dim": 0, "index": "rows"}),
    ("gather", ("x",), {"dim": 1, "index": "places", "sparse_grad": False}),
    ("scatter_add", ("x",), {"dim": 1, "index": "places", "src": "y"}),
    ("index_add", ("x",), {"dim": 0, "index": "rows", "source": "y", "alpha": 1}),
    ("masked_fill", ("x",), {"mask": "mask", "value": 0.0}),
    ("cat", ("pair",), {"dim": 0}), ("cat", ("pair",), {"dim": 1}),
    ("_vector_norm", ("x",), {"ord": 2.0, "dim": None, "keepdim": False}),
    ("native_dropout", ("x",), {"p": 0.5, "train": True}), ("native_dropout_backward", ("x", "mask"), {"scale": 2.0}),
    ("rand", (), {"size": (ROWS, COLUMNS), "generator": None, "dtype": "native"}),
    ("randn", (), {"size": (ROWS, COLUMNS), "generator": None, "dtype": "native"}),
    ("_attention", ("heads", "heads", "heads"), {"mask": None, "is_causal": True, "scale": 0.125}),
    ("_attention_backward", ("heads", "heads", "heads", "heads"), {
        "mask": None, "output": "heads", "logsumexp": "logsumexp", "is_causal": True, "scale": 0.125,
    }),
    ("_fused_sgd_", ("pair", "pair", "pair"), {
        "weight_decay": 0.0, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
        "is_first_step": False, "grad_scale": None, "found_inf": None,
    }),
    *((name, ("pair", "pair", "pair", "pair", "nothing", "steps"), {
        "lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False,
        "maximize": False, "grad_scale": None, "found_inf": None,
    }) for name in ("_fused_adam_", "_fused_adamw_")),
)  # fmt: skip


# --- handles without memory ------------------------------------------------------------------------------------


class _Nothing:
    """Memory that has a size and an address, and no bytes."""

    def allocate(self, nbytes: int) -> Any:
        return _Block(nbytes)

    def nbytes(self, owner: Any) -> int:
        return int(owner.size)

    def address(self, owner: Any) -> int:
        return 1 << 20  # like the pool's, a multiple of 512

    def array(self, *description: Any) -> Any:
        raise errors.DeviceError("handles of the warm-up have no memory")

    def describe(self, array: Any) -> tuple[Any, int]:
        return _Block(array.nbytes), 0


@dataclass(frozen=True, eq=False)
class _Block:
    size: int


class _Notes:
    """An engine that launches nothing."""

    synchronous = True

    def __init__(self) -> None:
        self.kernels: dict[ProgramKernel, None] = {}

    def launch(
        self,
        kernel: ProgramKernel,
        grid: Sequence[int],
        block: Sequence[int],
        packer: struct.Struct,
        values: Sequence[Any],
        shared: int,
    ) -> None:
        self.kernels[kernel] = None


class _Library:
    """Provides the CuPy functions that kernels call before they launch; host arrays are not copied."""

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        return value


def common_kernels(dtypes: Sequence[str] = DTYPES) -> list[ProgramKernel]:
    """Return the kernels that users run most, in the order in which programs meet them.

    Examples
    --------
    >>> from tt.backends.cuda.compile.warmup import common_kernels
    >>> common_kernels(["float32"])[0]
    pointwise.cuh: pointwise_flat<Exp, float32, Types<float32>>
    """
    from tt.backends.cuda.kernels import kernel_tables

    notes = _Notes()
    # The same code as in a program chooses the kernels: it runs on handles without memory, and launches are
    # noted.
    backend = CudaBackend(_Nothing(), _Library, notes)
    tables = kernel_tables(backend)
    natives = {name: np.dtype(backend.native_dtype(to_dtype(name))) for name in dtypes}
    own: dict[str, list[Any]] = {}
    for table in tables:
        for kernel in table.kernels:
            # Kernels without a priority make views or call CuPy, so there is nothing of their own to
            # compile.
            if kernel.form != "out" and kernel.priority:
                own.setdefault(kernel.op, []).append(kernel)
    for name, native in natives.items():
        for op, args, numbers in _calls(backend, native):
            # Kernels that name their dtypes may lack this one, which is then computed in another.
            served = [k for k in own[op] if isinstance(k.dtypes, str) or name in k.dtypes]
            if served:
                _call(served, op, args, numbers)
        for other in natives.values():
            if other is not native:
                backend.cast(backend.empty((ROWS, COLUMNS), native), other)
    return list(notes.kernels)


def _calls(backend: CudaBackend, native: Any) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    def empty(*shape: int, dtype: Any = native) -> Any:
        return backend.empty(shape, np.dtype(dtype))

    x, y, step = empty(ROWS, COLUMNS), empty(ROWS, COLUMNS), empty(dtype=np.float32)
    # Statistics are kept in the wide dtype.
    noted = np.promote_types(native, np.float32) if native.kind == "f" else np.dtype(np.float32)
    named: dict[str, Any] = {
        "x": x, "y": y, "row": empty(COLUMNS), "column": empty(ROWS, 1), "pair": [x, y], "number": empty(),
        "mask": empty(ROWS, COLUMNS, dtype=bool), "turned": y.view((ROWS, COLUMNS), (1, ROWS)), "native": native,
        "rows": empty(ROWS, dtype=np.int64), "places": empty(ROWS, COLUMNS, dtype=np.int64),
        "rowwise": empty(ROWS, dtype=noted), "images": empty(8, 16, 32, 32), "channel": empty(16),
        "heads": empty(8, 4, 128, 64), "logsumexp": empty(8, 4, 128, dtype=noted), "steps": [step, step], "nothing": [],
    }  # fmt: skip
    for op in ONE:
        yield op, (x,), {}
    for op in TWO:
        for other in (y, named["row"], named["column"], 2.5):
            yield op, (x, other), {"alpha": 1}
    for op, operands, numbers in OTHERS:
        rest = {
            key: named.get(value, value) if isinstance(value, str) else value
            for key, value in numbers.items()
        }
        yield op, tuple(named[operand] for operand in operands), rest


def _call(kernels: list[Any], op: str, args: tuple[Any, ...], numbers: dict[str, Any]) -> None:
    """Call the kernel of an operator that takes the given arguments."""
    for kernel in kernels:
        takes = kernel.takes or tuple(
            # Kernels that declare no arguments take them by the names of their parameters.
            kernel.function.__code__.co_varnames[: kernel.function.__code__.co_argcount]
        )
        rest = takes[len(args) :]
        if len(takes) >= len(args) and all(name in numbers for name in rest):
            kernel.function(*args, *(numbers[name] for name in rest))
            return
    raise errors.UnsupportedError(
        f"no kernel of {op} takes {len(args)} tensors and {', '.join(numbers) or 'nothing'}"
    )


# --- compiling -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Warmed:
    """The outcome for a kernel.

    Attributes
    ----------
    kernel, arch : str
        Which one, and for which architecture.
    state : str
        "compiled", "cached" (it was there) or "failed".
    seconds : float
        How long it took.
    error : str
        Why it failed.
    """

    kernel: str
    arch: str
    state: str
    seconds: float
    error: str = ""


def present_arch() -> str:
    """Return the architecture of the current GPU.

    Raises
    ------
    DeviceError
        When there is none that can be used, with the reason.
    """
    from tt.backends.cuda.memory.memory import cupy

    return f"sm_{cupy().cuda.Device().compute_capability}"


def compile_all(
    kernels: Sequence[ProgramKernel],
    archs: Sequence[str],
    told: Callable[[Warmed], None] = lambda warmed: None,
    folder: Path | None = None,
    workers: int | None = None,
) -> list[Warmed]:
    """Compile kernels into the cache, several at a time.

    Parameters
    ----------
    kernels : sequence of ProgramKernel
        Which ones.
    archs : sequence of str
        For which architectures.
    told : callable
        Called with the outcome of each kernel.
    folder : Path, optional
        Where they are kept, instead of `cache_folder()`.
    workers : int, optional
        How many compile at a time; by default one for each core.

    Raises
    ------
    DeviceError, ValueRangeError
        If no compiler is installed, or it does not support an architecture.
    ConfigurationError
        When a kernel cannot be kept: the others are not compiled then.
    """
    from tt.backends.cuda.compile.compiler import compile_source, usable_arch

    for arch in archs:
        usable_arch(arch)  # before anything is compiled
    target = cache_folder() if folder is None else folder

    def warm(kernel: ProgramKernel, arch: str) -> Warmed:
        began = time.perf_counter()
        path = target / f"{kernel_key(kernel, arch)}.bin"
        if read_kernel(path, kernel.name) is not None:
            return Warmed(str(kernel), arch, "cached", time.perf_counter() - began)
        try:
            compiled = compile_source(kernel.program.source, [kernel.name], arch)
        except errors.CompileError as error:
            return Warmed(str(kernel), arch, "failed", time.perf_counter() - began, str(error))
        write_kernel(path, kernel.name, compiled)
        return Warmed(str(kernel), arch, "compiled", time.perf_counter() - began)

    done: list[Warmed] = []
    # Threads are enough, since NVRTC does its work outside of Python.
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            waiting = [pool.submit(warm, kernel, arch) for arch in archs for kernel in kernels]
            for future in as_completed(waiting):
                done.append(future.result())
                told(done[-1])
        except OSError as error:
            raise errors.ConfigurationError(
                str(target),
                f"compiled kernels cannot be kept there: {'it is a file' if target.is_file() else error.strerror}; "
                f"{len(done)} of {len(waiting)} are",
                hint=f"{VARIABLE}=FOLDER, which names another folder",
            ) from error
        finally:
            # After a failed write, or Ctrl-C, nothing that has not begun is compiled.
            pool.shutdown(wait=False, cancel_futures=True)
    return done
