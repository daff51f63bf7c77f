"""What every collective does with memory that cannot be written: a program for the ranks of any engine."""

from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist

COUNTS = 4, 3000  # such that it travels with the guard's record, and not


def read_only(values):
    """Return a tensor over an immutable buffer."""
    return tt.frombuffer(np.asarray(values, np.float32).tobytes(), dtype=tt.float32)


def repeated(values):
    """Return a tensor whose elements are one in memory."""
    return tt.tensor([float(values[0])]).expand(len(values))


def full(count, value):
    return np.full(count, value, np.float32)


def holds(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), expected)


def reads(make, rank, size, count):
    """Call everything with inputs that it only reads."""
    own = make(full(count, rank + 1))
    each = [full(count, r + 1) for r in range(size)]
    total = sum(each)
    last = size - 1

    def empty(number=1):
        return tt.zeros(number * count)

    root = empty() if rank == last else own
    if rank == last:
        root.copy_(own)
    dist.reduce(root, dst=last)
    holds(root, total if rank == last else each[rank])
    if rank != last:
        dist.reduce(own, dst=last, op=dist.ReduceOp.AVG)
    else:
        x = tt.tensor(each[rank])
        dist.reduce(x, dst=last, op=dist.ReduceOp.AVG)
        holds(x, total / size)
    sent = own if rank == 0 else empty()
    dist.broadcast(sent, src=0)
    holds(sent, each[0])
    found = [empty() for _ in range(size)]
    dist.all_gather(found, own)
    for tensor, expected in zip(found, each, strict=True):
        holds(tensor, expected)
    whole = empty(size)
    dist.all_gather_single(whole, own)
    holds(whole, np.concatenate(each))
    found = [[empty(), empty()] for _ in range(size)]
    dist.all_gather_coalesced(found, [own, own])
    holds(found[last][1], each[last])
    found = [empty() for _ in range(size)]
    dist.gather(own, found if rank == 0 else None, dst=0)
    if rank == 0:
        holds(found[last], each[last])
    x = empty()
    dist.scatter(x, [make(part) for part in each] if rank == 0 else None, src=0)
    holds(x, each[rank])
    x = empty()
    dist.reduce_scatter(x, [own] * size)
    holds(x, total)
    x = empty()
    dist.reduce_scatter_single(x, make(full(size * count, rank + 1)))
    holds(x, total)
    found = [empty() for _ in range(size)]
    dist.all_to_all(found, [own] * size)
    holds(found[0], each[0])
    whole = empty(size)
    dist.all_to_all_single(whole, make(full(size * count, rank + 1)))
    holds(whole, np.concatenate(each))
    x = empty()
    work = dist.isend(own, (rank + 1) % size)
    dist.recv(x, (rank - 1) % size)
    work.wait()
    holds(x, each[rank - 1])


def refused(make, wrong, rank, size, count):
    """Call everything such that one rank, or all, would write into memory that cannot be written."""
    own = full(count, rank + 1)
    plain = tt.tensor(own)
    bad = rank in wrong

    def target(number=1):
        return make(full(number * count, rank + 1)) if bad else tt.zeros(number * count)

    def targets(number=size):
        return [target() for _ in range(number)]

    writer = wrong[0]
    other = (writer + 1) % size
    calls = {
        "all_reduce": lambda x: dist.all_reduce(x[0]),
        "all_reduce of averages": lambda x: dist.all_reduce(x[0], op=dist.ReduceOp.AVG),
        "all_reduce in the background": lambda x: dist.all_reduce(x[0], async_op=True).wait(),
        "all_reduce_coalesced": lambda x: dist.all_reduce_coalesced([plain, x[0]]),
        "reduce": lambda x: dist.reduce(x[0], dst=writer),
        "broadcast": lambda x: dist.broadcast(x[0], src=other),
        "all_gather": lambda x: dist.all_gather(x, plain),
        "all_gather_into_tensor": lambda x: dist.all_gather_single(target(size), plain),
        "all_gather_coalesced": lambda x: dist.all_gather_coalesced([[one] for one in x], [plain]),
        "gather": lambda x: dist.gather(plain, x if rank == writer else None, dst=writer),
        "scatter": lambda x: dist.scatter(x[0], [plain] * size if rank == other else None, src=other),
        "reduce_scatter": lambda x: dist.reduce_scatter(x[0], [plain] * size),
        "reduce_scatter_tensor": lambda x: dist.reduce_scatter_single(x[0], tt.ones(size * count)),
        "all_to_all": lambda x: dist.all_to_all(x, [plain] * size),
        "all_to_all_single": lambda x: dist.all_to_all_single(target(size), tt.ones(size * count)),
    }
    for name, call in calls.items():
        given = targets()
        before = [tensor.clone() for tensor in given]
        with pytest.raises(tt.errors.InplaceError) as caught:
            call(given)
        message = str(caught.value)
        writes = (
            bad
            and (rank == writer or name not in ("reduce", "gather"))
            and (rank != other or name != "broadcast")
        )
        if writes:
            assert message.startswith(f"{name.partition(' ')[0]}(): "), message
            assert isinstance(caught.value, tt.errors.ReadOnlyError) == (make is read_only)
        else:
            assert f"rank {writer} into memory" in message, message
            assert name.partition(" ")[0] in message, message
        for tensor, expected in zip(given, before, strict=True):
            holds(tensor, expected.numpy())
        x = tt.ones(2)
        dist.all_reduce(x)  # the ranks are still in step
        holds(x, [size, size])
    if bad:
        with pytest.raises(tt.errors.InplaceError):
            dist.recv(target(), (rank + 1) % size)


def program(rank, size):
    """Do all of it."""
    for make in (read_only, repeated):
        for count in COUNTS:
            reads(make, rank, size, count)
            for wrong in ([size - 1], list(range(size))):
                refused(make, wrong, rank, size, count)
