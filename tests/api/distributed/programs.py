"""What the tests of tt.distributed share: inputs of each rank, an engine with nothing but what is required, runs."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tt.distributed.backend import Capabilities
from tt.distributed.engines.names import is_installed
from tt.distributed.engines.threads import Threads
from tt.distributed.guard import reason_of
from tt.distributed.world import current_world

TIMEOUT = timedelta(seconds=20)
DTYPES = (
    tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int8, tt.int16, tt.int32, tt.int64, tt.uint8, tt.uint16,
    tt.uint32, tt.uint64, tt.bool, tt.complex32, tt.complex64, tt.complex128,
)  # fmt: skip
LAYOUTS = ("contiguous", "strided", "empty", "scalar")


class Bare(Threads):
    """An engine that has only what `Backend` requires: everything else is derived."""

    name: ClassVar[str] = "bare"
    capabilities: ClassVar[Capabilities] = Capabilities(devices=frozenset({"cpu"}))


if not is_installed("bare"):
    dist.Backend.register_backend("bare", Bare)


MPI = pytest.param(
    "mpi",
    marks=(
        pytest.mark.exhaustive,
        pytest.mark.mpi4py,
        pytest.mark.skipif(find_spec("mpi4py") is None, reason="needs mpi4py"),
    ),
)
TCP = pytest.param("gloo over TCP", marks=pytest.mark.exhaustive)
ENGINES = ("threads", "bare", "gloo", TCP, MPI)
PROCESSES = ("gloo", "gloo over TCP", "mpi")
"""The engines whose ranks are processes."""

VARIABLES = {"gloo over TCP": {"TT_DISTRIBUTED_SHARED_MEMORY": "0"}}
"""Of the environment of ranks, by engine."""


def run(
    function: Any, size: int, *args: Any, backend: str = "threads", timeout: timedelta = TIMEOUT
) -> list[Any]:
    """Run a function on ranks that are threads or processes, with a timeout that ends a test that hangs."""
    if backend not in PROCESSES:
        return dist.run_threads(function, size, *args, backend=backend, timeout=timeout)
    outcomes = outcomes_of(lambda: function(*args), size, backend, timeout)
    errors = [outcome for outcome in outcomes if isinstance(outcome[1], BaseException)]
    if errors:
        raise min(errors, key=lambda outcome: outcome[0])[1]
    return [result for _, result in outcomes]


def outcomes_of(
    function: Any,
    size: int,
    backend: str,
    timeout: timedelta = TIMEOUT,
    silent: int = 0,
    noted: Path | None = None,
    variables: Callable[[int], Mapping[str, str]] = lambda rank: {},
) -> list[tuple[float, Any]]:
    """Run a function in forks of this process; return when each ended, and its result or its exception.

    A fork has all modules and the function, which may be a closure, within milliseconds.
    A rank that was killed has the exit code of its process, as a `ChildProcessError`, and one of the ``silent`` ones
    that are not waited for has None.  A file ``RANK.PID`` in the folder ``noted`` is made as soon as a rank begins.
    ``variables`` gives what is set in a rank's environment.
    """
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks, ends = [], []
        for rank in range(size):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_be_rank,
                args=(writer, function, backend, timeout, folder, rank, size, variables(rank)),
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks while threads run
                process.start()
            if noted is not None:
                (noted / f"{rank}.{process.pid}").touch()
            writer.close()
            ranks.append(process)
            ends.append(reader)
        try:
            return _received(ranks, ends, timeout.total_seconds() + 60, silent)
        finally:
            for process, reader in zip(ranks, ends, strict=True):
                process.kill()
                process.join()
                reader.close()


def _received(ranks: list[Any], ends: list[Any], seconds: float, silent: int) -> list[tuple[float, Any]]:
    results: list[Any] = [(0.0, None)] * len(ranks)
    left = dict(zip(ends, range(len(ends)), strict=True))
    limit = time.monotonic() + seconds
    while len(left) > silent:
        ready = wait(list(left), max(0.0, limit - time.monotonic()))
        if not ready:
            raise TimeoutError(f"ranks {sorted(left.values())} did not end within {seconds:g} s")
        for reader in ready:
            rank = left.pop(reader)
            try:
                results[rank] = pickle.loads(reader.recv_bytes())
            except EOFError:
                ranks[rank].join(10)
                results[rank] = time.monotonic(), ChildProcessError(ranks[rank].exitcode)
    return results


def _be_rank(
    writer: Connection,
    function: Any,
    backend: str,
    timeout: timedelta,
    folder: str,
    rank: int,
    size: int,
    variables: Mapping[str, str],
) -> None:
    os.environ.update({**VARIABLES.get(backend, {}), **variables})
    result: Any
    try:
        store = dist.FileStore(f"{folder}/store", size)
        dist.init_process_group(
            backend.partition(" ")[0], store=store, rank=rank, world_size=size, timeout=timeout
        )
        result = function()
        ended = time.monotonic()
        current_world().leave("ended: its function returned")
        dist.destroy_process_group()
    except BaseException as error:
        ended, result = time.monotonic(), _told(error)
        current_world().leave(reason_of(error))
    writer.send_bytes(pickle.dumps((ended, result)))
    writer.close()
    os._exit(0)  # nothing of the tests' process ends with this one


def _told(error: BaseException) -> BaseException:
    """Return an exception that travels, with its traceback as a note."""
    text = "".join(traceback.format_exception(error))
    try:
        travelled = pickle.loads(pickle.dumps(error))
    except Exception:
        travelled = RuntimeError(str(error))
    travelled.add_note(text)
    assert isinstance(travelled, BaseException)
    return travelled


def values(dtype: Any, layout: str, seed: int) -> tt.Tensor:
    """Return a tensor of small numbers, whose sums and products are exact in every dtype."""
    shape = {"contiguous": (2, 3), "strided": (2, 3), "empty": (0, 3), "scalar": ()}[layout]
    numbers = np.random.default_rng(seed).integers(0, 4, size=shape)
    if dtype is tt.bool:
        numbers = numbers > 1
    made = tt.tensor(numbers.tolist(), dtype=dtype).reshape(shape)
    if dtype.is_complex:
        made = made + tt.tensor(1j, dtype=dtype) * (seed % 3)
    return strided(made) if layout == "strided" else made


def strided(tensor: tt.Tensor) -> tt.Tensor:
    """Return a tensor of the same values that is not contiguous."""
    wide = tt.zeros((tensor.shape[1] * 2, tensor.shape[0]), dtype=tensor.dtype)
    view = wide[::2].t()
    view.copy_(tensor)
    assert not view.is_contiguous()
    return view


def like(tensor: tt.Tensor, layout: str) -> tt.Tensor:
    """Return a tensor to be filled, in the same layout, with other values."""
    made = tt.ones(tensor.shape).to(tensor.dtype)
    return strided(made) if layout == "strided" else made


def array(tensor: tt.Tensor) -> np.ndarray[Any, Any]:
    """Return the values as NumPy computes with them: half precision as float32."""
    wide = tensor.float() if tensor.dtype in (tt.float16, tt.bfloat16) else tensor
    return np.array(wide.numpy())


def same(tensor: tt.Tensor, expected: Any) -> None:
    """Compare exactly; the expectation is rounded to the tensor's dtype."""
    found = array(tensor)
    np.testing.assert_array_equal(found, np.asarray(expected).astype(found.dtype).reshape(found.shape))
