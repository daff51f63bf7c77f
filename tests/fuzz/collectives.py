"""Collectives of two ranks with tensors of all kinds: results are those of plain sums, and refusals change nothing."""

from __future__ import annotations

import mmap
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np

import tt
import tt.distributed as dist
import tt.distributed.nn.functional as nn
from tests.fuzz.drafts import Program
from tests.fuzz.following import Steps
from tt.testing.references import as_array

__all__ = ["program", "run"]

SIZE: Final = 2
PATIENCE: Final = timedelta(seconds=0.4)
KINDS: Final = (
    "plain", "plain", "plain", "transposed", "stepped", "empty", "scalar", "expanded", "windowed", "read_only",
    "unaligned", "leaf", "recorded", "parameter", "quantized", "sparse", "sparse_csr", "meta", "large", "number",
    "nothing",
)  # fmt: skip
DTYPES: Final = (
    "float32", "float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "uint16", "uint64",
    "bool", "complex32", "complex64", "complex128", "float8_e4m3fn",
)  # fmt: skip
REDUCTIONS: Final = ("SUM", "SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR")
OPERATIONS: Final = (
    "all_reduce", "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter",
    "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "message", "all_reduce_coalesced",
    "all_gather_object", "broadcast_object_list", "nn_all_reduce", "nn_all_gather",
)  # fmt: skip


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program of two ranks; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    steps, parts = [], []
    for index in range(chance.randrange(1, 5)):
        operation, dtype = chance.choice(OPERATIONS), chance.choice(DTYPES)
        kinds = [chance.choice(KINDS) for _ in range(2)]
        if chance.random() < 0.6:
            kinds[1] = "plain"
        other = chance.random() < 0.05  # a rank with another dtype
        step = (operation, *kinds, dtype, chance.choice(DTYPES) if other else dtype, chance.choice(REDUCTIONS),
                chance.randrange(SIZE), chance.random() < 0.3, chance.getrandbits(32))  # fmt: skip
        parts.append(operation)
        if index not in dropped and operation not in excluded:
            steps.append(step)
    text = "".join(f"    {step},\n" for step in steps)
    return Program(f"from tests.fuzz.collectives import run\nrun([\n{text}])\n", tuple(parts), "collectives")


def run(steps: Sequence[tuple[Any, ...]]) -> None:
    """Run collectives in two threads; raise AssertionError for a wrong result."""
    dist.run_threads(_ranks, SIZE, steps, [set() for _ in steps], timeout=PATIENCE)


def _ranks(steps: Sequence[tuple[Any, ...]], refused: Sequence[set[int]]) -> None:
    """Do the steps of a rank; `refused` holds the ranks that have refused each of them.

    What one rank alone refuses, the other meets with the next step, if that is alike: numbers tell nothing after.
    """
    for number, step in enumerate(steps):
        _one(*step, refused[: number + 1])


def tensor(kind: str, dtype: str, rank: int, seed: int, copies: int = 1) -> Any:
    """Return a rank's argument: small numbers in a layout, or something that is no dense tensor.

    Parameters
    ----------
    kind, dtype : str
        Of `KINDS` and `DTYPES`.
    rank, seed : int
        Which decide the numbers.
    copies : int
        How many times the elements along the first dimension.
    """
    draw = np.random.default_rng([seed, rank])
    shape = {"empty": (0, 3), "scalar": (), "large": (257, 129)}.get(kind, (2, 3))
    if copies > 1:
        shape = (shape[0] * copies, *shape[1:]) if shape else (copies,)
    numbers = draw.integers(0, 2 if dtype == "bool" else 3, shape)
    made = tt.tensor(numbers).to(getattr(tt, dtype))
    if kind == "transposed":
        return made.t().contiguous().t()
    if kind == "stepped":
        return tt.stack([made, made], -1)[..., 1]
    if kind == "expanded":
        return made[:1].expand(shape)
    if kind == "windowed":
        return made.reshape(-1).as_strided(shape, (1, 1))
    if kind == "read_only":
        return tt.from_numpy(
            np.frombuffer(mmap.mmap(-1, 4096, prot=mmap.PROT_READ), made.numpy().dtype, made.numel()).reshape(
                shape
            )
        )
    if kind == "unaligned":
        memory = bytearray(1) + bytearray(made.numpy().tobytes())
        return tt.from_numpy(np.frombuffer(memory, np.uint8)[1:].view(made.numpy().dtype).reshape(shape))
    if (
        kind in ("leaf", "recorded", "parameter")
        and (made.is_floating_point() or made.is_complex())
        and "8" not in dtype[-6:]
    ):
        if kind == "parameter":
            return tt.nn.Parameter(made)
        leaf = made.requires_grad_()
        return leaf if kind == "leaf" else leaf * 1
    odd: dict[str, Callable[[], Any]] = {
        "quantized": lambda: tt.quantize_per_tensor(made.float(), 0.5, 1, tt.qint8),
        "sparse": lambda: made.to_sparse(),
        "sparse_csr": lambda: made.to_sparse_csr(),
        "meta": lambda: made.to("meta"),
        "number": lambda: 3,
        "nothing": lambda: None,
    }
    return odd[kind]() if kind in odd else made


def _one(
    operation: str,
    kind: str,
    target: str,
    dtype: str,
    of_other: str,
    reduction: str,
    root: int,
    later: bool,
    seed: int,
    refused: Sequence[set[int]],
) -> None:
    """Do one operation, and compare; an error of tt's is a refusal, after which targets are as they were."""
    rank = dist.get_rank()
    step = Steps()
    op = getattr(dist.ReduceOp, reduction)
    own, outs = None, []
    with step:
        own = tensor(kind, of_other if rank else dtype, rank, seed, SIZE if operation in DIVIDED else 1)
        outs = [tensor(target, dtype, 7 + number, seed, SIZE if operation in GATHERED else 1)
                for number in range(SIZE if operation in LISTED else 1)]  # fmt: skip
    if step.refused[-1]:
        refused[-1].add(rank)
        return
    parts = None
    if not isinstance(own, tt.Tensor) and operation not in ("all_gather_object", "broadcast_object_list"):
        operation = "broadcast"
    with step:
        parts = (
            list(own.reshape(SIZE, -1)) if operation in ("scatter", "reduce_scatter", "all_to_all") else None
        )
    if step.refused[-1]:
        refused[-1].add(rank)
        return
    before = [_values(x) for x in (own, *outs)]
    work = found = None
    with step:
        if operation == "all_reduce":
            work = dist.all_reduce(own, op, async_op=later)
        elif operation == "reduce":
            work = dist.reduce(own, root, op, async_op=later)
        elif operation == "broadcast":
            work = dist.broadcast(own, root, async_op=later)
        elif operation == "all_gather":
            work = dist.all_gather(outs, own, async_op=later)
        elif operation == "all_gather_into_tensor":
            work = dist.all_gather_single(outs[0], own, async_op=later)
        elif operation == "gather":
            work = dist.gather(own, outs if rank == root else None, root, async_op=later)
        elif operation == "scatter":
            work = dist.scatter(outs[0], parts if rank == root else None, root, async_op=later)
        elif operation == "reduce_scatter":
            work = dist.reduce_scatter(outs[0], parts, op, async_op=later)
        elif operation == "reduce_scatter_tensor":
            work = dist.reduce_scatter_single(outs[0], own, op, async_op=later)
        elif operation == "all_to_all":
            work = dist.all_to_all(outs, parts, async_op=later)
        elif operation == "all_to_all_single":
            work = dist.all_to_all_single(outs[0], own, async_op=later)
        elif operation == "message":
            work = dist.isend(own, root) if rank != root else dist.irecv(outs[0], 1 - root)
        elif operation == "all_reduce_coalesced":
            work = dist.all_reduce_coalesced([own, *outs], op, async_op=later)
        elif operation == "all_gather_object":
            found = [None] * SIZE
            dist.all_gather_object(found, own)
        elif operation == "broadcast_object_list":
            found = [own]
            dist.broadcast_object_list(found, root)
        elif operation == "nn_all_reduce":
            found = nn.all_reduce(own, dist.ReduceOp.SUM)
        else:
            found = nn.all_gather(own)
        if work is not None:
            work.wait()
        if found is not None and operation.startswith("nn_"):
            _differentiate(own, found)
    if step.refused[-1]:
        refused[-1].add(rank)
        return
    if any(len(ranks) % SIZE for ranks in refused):
        return
    if dtype != of_other or "float8" in dtype or before[0] is None or "windowed" in (kind, target):
        return
    _check(operation, rank, root, reduction, kind, target, dtype, seed, own, outs, found, before)


DIVIDED: Final = ("scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single")
"""Operations whose argument has a part for each rank."""
GATHERED: Final = ("all_gather_into_tensor", "all_to_all_single")
"""Operations whose target has a part for each rank."""
LISTED: Final = ("all_gather", "gather", "all_to_all")
"""Operations whose targets are a list with a tensor for each rank."""
WHOLE: Final = ("SUM", "PRODUCT", "MIN", "MAX", "AVG")
"""Reductions of numbers that need not be integers."""
OVERLAPPING: Final = ("expanded",)
"""Memory that nothing writes into.  That of sliding windows is written as in PyTorch, and its numbers are left open."""


def _differentiate(own: Any, found: Any) -> None:
    results = [x for x in (found if isinstance(found, tuple) else (found,)) if x.requires_grad]
    if results and own.requires_grad:
        tt.autograd.grad(results, [own], [tt.ones_like(x) for x in results], allow_unused=True)


def _values(value: Any) -> Any:
    """Return the numbers of a dense tensor as an array of their own; None for anything else."""
    if not isinstance(value, tt.Tensor) or value.layout is not tt.strided or value.device.type != "cpu":
        return None
    array = np.array(as_array(value))
    return array.astype(
        np.complex128 if value.dtype.is_complex else np.float64 if array.dtype.kind in "fV" else array.dtype
    )


def _check(
    operation: str, rank: int, root: int, reduction: str, kind: str, target: str, dtype: str, seed: int, own: Any,
    outs: Sequence[Any], found: Any, before: Sequence[Any],
) -> None:  # fmt: skip
    """Raise AssertionError unless the results are those of the two ranks' numbers."""
    given = [_values(tensor(kind, dtype, r, seed, SIZE if operation in DIVIDED else 1)) for r in range(SIZE)]
    halves = [x.reshape(SIZE, -1) if x is not None and x.size % SIZE == 0 else x for x in given]
    combined = _combined(given, reduction, dtype)
    writes = operation == "all_reduce" or (
        operation in ("reduce", "broadcast") and (rank == root) == (operation == "reduce")
    )
    if writes and kind in OVERLAPPING:
        raise AssertionError(f"{operation} has written into {kind} memory")
    if operation == "all_reduce" or (operation == "reduce" and rank == root):
        _same(operation, _values(own), combined)
    elif operation == "broadcast":
        _same(operation, _values(own), given[root])
    elif operation == "all_gather" or (operation == "gather" and rank == root):
        for out, expected in zip(outs, given, strict=True):
            _same(operation, _values(out), expected, target)
    elif operation == "all_gather_into_tensor":
        _same(operation, _values(outs[0]), np.concatenate([x.reshape(-1) for x in given]), target)
    elif operation == "scatter":
        _same(operation, _values(outs[0]), halves[root][rank], target)
    elif operation in ("reduce_scatter", "reduce_scatter_tensor"):
        _same(operation, _values(outs[0]), combined.reshape(SIZE, -1)[rank], target)
    elif operation == "all_to_all":
        for out, half in zip(outs, halves, strict=True):
            _same(operation, _values(out), half[rank], target)
    elif operation == "all_to_all_single":
        _same(operation, _values(outs[0]), np.concatenate([half[rank] for half in halves]), target)
    elif operation == "message" and rank == root:
        _same(operation, _values(outs[0]), given[1 - root], target)
    elif operation == "all_gather_object":
        for one, expected in zip(found, given, strict=True):
            _same(operation, _values(one), expected)
    elif operation == "broadcast_object_list":
        _same(operation, _values(found[0]), given[root])
    elif operation == "nn_all_reduce":
        _same(operation, _values(found), _combined(given, "SUM", dtype))
    if operation not in ("all_reduce", "reduce", "broadcast", "all_reduce_coalesced"):
        _same(f"{operation}: its argument", _values(own), before[0])


def _combined(given: Sequence[Any], reduction: str, dtype: str) -> Any:
    """Return what a reduction makes of two arrays; None where there is no such reduction."""
    a, b = given
    if a is None:
        return None
    functions: dict[str, Callable[[], Any]] = {
        "SUM": lambda: a | b if dtype == "bool" else a + b,
        "PRODUCT": lambda: a & b if dtype == "bool" else a * b,
        "MIN": lambda: np.minimum(a, b), "MAX": lambda: np.maximum(a, b), "AVG": lambda: (a + b) / 2,
        "BAND": lambda: a & b, "BOR": lambda: a | b, "BXOR": lambda: a ^ b,
    }  # fmt: skip
    return functions[reduction]() if reduction in WHOLE or a.dtype.kind in "biu" else None


def _same(what: str, found: Any, expected: Any, target: str = "") -> None:
    if target in OVERLAPPING:
        raise AssertionError(f"{what} has written into {target} memory")
    assert found is not None and np.array_equal(found.reshape(-1), expected.reshape(-1)), (
        f"{what}: other numbers"
    )
