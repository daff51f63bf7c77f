"""One rank of a test of the mpi engine: python mpi_rank.py PROGRAM FILE RANK SIZE TIMEOUT."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed import memory
from tt.distributed import ReduceOp
from tt.distributed.engines import mpi, mpi_shares
from tt.distributed.fsdp import FullyShardedDataParallel
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.distributed.stores import FileStore, TCPStore
from tt.nn.parallel import DistributedDataParallel

DTYPES = (
    tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int8, tt.int16, tt.int32, tt.int64, tt.uint8, tt.uint16,
    tt.uint32, tt.uint64, tt.bool, tt.complex64, tt.complex128,
)  # fmt: skip
SHAPES = ((2, 3), (0, 3), ())


def numbers(rank, shape, dtype):
    """Return a tensor of small whole numbers."""
    found = np.random.default_rng(rank).integers(0, 3, size=shape)
    return tt.tensor(found.tolist()).reshape(shape).to(dtype)


def same(found, expected):
    """Compare exactly, as float64 or complex128."""
    wide = tt.complex128 if found.dtype.is_complex else tt.float64
    np.testing.assert_array_equal(found.to(wide).numpy(), expected)


def wide(tensor):
    """Return an array that sums of the tests fit into."""
    return tensor.to(tt.complex128 if tensor.dtype.is_complex else tt.float64).numpy()


def collectives(rank, size):
    """Call every collective with every dtype."""
    for dtype in DTYPES:
        for shape in SHAPES:
            parts = [numbers(r, shape, dtype) for r in range(size)]
            arrays = [wide(part) for part in parts]
            x = parts[rank].clone()
            version = x._version
            dist.all_reduce(x)
            assert x._version > version or not x.numel()
            total = np.any(np.array(arrays), axis=0) if dtype is tt.bool else sum(arrays)
            same(x, total)
            if not dtype.is_complex:
                x = parts[rank].clone()
                dist.all_reduce(x, op=ReduceOp.MAX)
                same(x, np.max(np.array(arrays), axis=0))
            x = parts[rank].clone()
            dist.reduce(x, dst=size - 1)
            same(x, total if rank == size - 1 else arrays[rank])
            x = parts[rank].clone()
            dist.broadcast(x, src=size - 1)
            same(x, arrays[size - 1])
            gathered = [tt.empty_like(x) for _ in range(size)]
            dist.all_gather(gathered, parts[rank])
            for found, expected in zip(gathered, arrays, strict=True):
                same(found, expected)
            gathered = [tt.empty_like(x) for _ in range(size)]
            dist.gather(parts[rank], gathered if rank == 0 else None, dst=0)
            if rank == 0:
                for found, expected in zip(gathered, arrays, strict=True):
                    same(found, expected)
            x = tt.empty_like(x)
            dist.scatter(x, [p.clone() for p in parts] if rank == 0 else None, src=0)
            same(x, arrays[rank])
            x = tt.empty_like(x)
            dist.reduce_scatter(x, [parts[rank].clone() for _ in range(size)])
            same(x, total)
            received = [tt.empty_like(x) for _ in range(size)]
            dist.all_to_all(received, [parts[rank].clone() for _ in range(size)])
            for found, expected in zip(received, arrays, strict=True):
                same(found, expected)
            if size == 1:
                continue
            x = tt.empty_like(x)
            sent = dist.isend(parts[rank], (rank + 1) % size)
            dist.recv(x, (rank - 1) % size)
            sent.wait()
            same(x, arrays[rank - 1])
    strided = tt.zeros(4, 3).t()
    strided.copy_(tt.full((3, 4), rank + 1.0))
    dist.all_reduce(strided)
    same(strided, np.full((3, 4), size * (size + 1) / 2))
    dist.barrier()


def background(rank, size):
    """Start many operations, and wait for them in another order."""
    tensors = [tt.full((1000,), float(rank + number)) for number in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    for number, tensor in enumerate(tensors):
        same(tensor, np.full(1000, size * number + size * (size - 1) / 2))
    large = tt.ones(1 << 20)
    work = dist.all_reduce(large, async_op=True)
    end = time.monotonic() + 10
    while not work.is_completed():  # nobody waits: it goes on by itself
        assert time.monotonic() < end
        time.sleep(0.01)
    same(large[:1], [size])


def shares(rank, size):
    """Add up tensors by shares; sizes that no number of pieces divides."""
    mpi.LARGE, mpi_shares._PIECE = 1 << 16, 1 << 14  # of bytes: the same with less to compute
    whole = [np.random.default_rng(r).integers(-9, 9, size=130_007) for r in range(size)]
    for dtype, count in ((tt.float32, 130_007), (tt.int64, 64_001), (tt.complex64, 13 << 12)):
        parts = [tt.from_numpy(array[:count]).to(dtype) for array in whole]
        total = wide(sum(parts[1:], parts[0]))
        first, second = parts[rank].clone(), parts[rank].clone().unsqueeze(0)
        work = dist.all_reduce(second, async_op=True)
        dist.all_reduce(first)
        work.wait()
        same(first, total)
        same(second[0], total)
    # Additions are made in the order of the ranks: the same bits on all of them, whoever adds.
    x = tt.rand(130_001, generator=tt.Generator().manual_seed(rank))
    dist.all_reduce(x)
    gathered = [tt.empty_like(x) for _ in range(size)]
    dist.all_gather(gathered, x)
    assert all(tt.equal(x, other) for other in gathered)
    everyone = [tt.rand(130_001, generator=tt.Generator().manual_seed(r)) for r in range(size)]
    assert tt.equal(x, sum(everyone[1:], everyone[0]))
    strided = tt.full((300, 450), rank + 1.0).t()
    dist.all_reduce(strided)
    same(strided, np.full((450, 300), size * (size + 1) / 2))


def groups(rank, size):
    """Use groups beside each other, and make the default one again."""
    halves = [dist.new_group([0, 1]), dist.new_group(list(range(1, size)))]
    for group, members in zip(halves, ([0, 1], range(1, size)), strict=True):
        if rank in members:
            x = tt.tensor([float(rank)])
            dist.all_reduce(x, group=group)
            same(x, [sum(members)])
    dist.destroy_process_group()
    start(sys.argv[2] + ".again", rank, size, 10)
    x = tt.ones(1)
    dist.all_reduce(x)
    same(x, [size])


def training(rank, size):
    """Train in three ways; the parameters are those of one process on the whole batch."""
    data = np.random.default_rng(1).normal(size=(4, 12, 5))

    def made():
        model = tt.nn.Sequential(tt.nn.Linear(5, 7), tt.nn.Tanh(), tt.nn.Linear(7, 1)).double()
        generator = np.random.default_rng(0)
        with tt.no_grad():
            for parameter in model.parameters():
                parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
        return model

    def train(model, optimizer, batches):
        for batch in batches:
            optimizer.zero_grad()
            model(tt.from_numpy(batch)).square().mean().backward()
            optimizer.step()

    own = data[:, rank * 12 // size : (rank + 1) * 12 // size]
    alone = made()
    train(alone, tt.optim.Adam(alone.parameters(), lr=0.05), data)
    parallel = DistributedDataParallel(made(), bucket_cap_mb=1e-4)
    train(parallel, tt.optim.Adam(parallel.parameters(), lr=0.05), own)
    divided = DistributedDataParallel(made())
    train(divided, ZeroRedundancyOptimizer(divided.parameters(), tt.optim.Adam, lr=0.05), own)
    sharded = FullyShardedDataParallel(made(), auto_wrap_policy={tt.nn.Linear})
    train(sharded, tt.optim.Adam(sharded.parameters(), lr=0.05), own)
    for found in (parallel.module.state_dict(), divided.module.state_dict(), sharded.state_dict()):
        for name, expected in alone.state_dict().items():
            np.testing.assert_allclose(found[name].numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)


def crossings(every):
    """Run every n-th of the programs that cross devices and ranks, others with each kind of model."""
    # Imports PyTorch, where it is installed: seconds for each rank, which tests of faults do not have.
    from tests.api.distributed import test_crossings

    expected = {}
    settings = {n: s for n, s in test_crossings.SETTINGS.items() if s.size == 2 and s.device == "cpu"}
    for first, (name, setting) in enumerate(settings.items()):
        for program, (call, refusal) in list(test_crossings.PROGRAMS.items())[first % every :: every]:
            if refusal is not None and name in refusal.settings:
                with pytest.raises(refusal.error, match=refusal.words):
                    call(setting)
                continue
            if program not in expected:
                expected[program] = call(test_crossings.Setting())
            for found, one in zip(call(setting), expected[program], strict=True):
                np.testing.assert_allclose(found, one, rtol=1e-8, atol=1e-10, err_msg=f"{name}: {program}")


def names(rank, size):
    """Leave nothing in shared memory that has a name."""
    dist.barrier()
    used = [line for line in Path("/proc/self/maps").read_text().splitlines() if "/dev/shm/mpich" in line]
    assert used
    assert all(line.endswith("(deleted)") for line in used)


def fault(kind, rank):
    """Do something wrong on the last rank while the others call all_reduce."""
    x = tt.ones(4)
    dist.all_reduce(x)
    if rank == dist.get_world_size() - 1:
        if kind == "raises":
            raise KeyError("mine")
        if kind == "exits":
            sys.exit(0)
        if kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if kind == "sleeps":
            time.sleep(6)
            return
        if kind == "another shape":
            x = tt.ones(5)
        if kind == "another dtype":
            x = tt.ones(4, dtype=tt.float64)
        if kind == "another collective":
            dist.broadcast(x, src=0)
            return
        if kind == "killed within":
            dist.all_reduce(tt.ones(100 << 18), async_op=True)
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
    if kind == "killed within":
        x = tt.ones(100 << 18)
    dist.all_reduce(x)


def start(file, rank, size, timeout):
    """Join the default group."""
    kind, _, port = file.partition("tcp:")
    store = FileStore(file, size) if kind else TCPStore("localhost", int(port))
    dist.init_process_group(
        "mpi", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
    )


def main():
    """Run a program, and say what went wrong."""
    program, file, rank, size, timeout = sys.argv[1:]
    warnings.filterwarnings("ignore", "all_(gather|reduce)_coalesced", FutureWarning)  # they are tested, too
    if rank == "auto":
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.Get_rank()
    if program == "unannounced":  # nothing is said about the world, and nothing is destroyed
        dist.init_process_group()
        x = tt.ones(2)
        dist.all_reduce(x)
        same(x, [int(size)] * 2)
        return
    start(file, int(rank), int(size), float(timeout))
    known = {
        "collectives": collectives, "background": background, "groups": groups, "names": names, "training": training,
        "memory": memory.program, "shares": shares, "crossings": lambda rank, size: crossings(1),
        "some crossings": lambda rank, size: crossings(3),
    }  # fmt: skip
    try:
        if program in known:
            known[program](int(rank), int(size))
        else:
            fault(program, int(rank))
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
