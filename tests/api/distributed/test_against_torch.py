"""One program, run by PyTorch with gloo in processes and by tt in threads, gives the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from types import ModuleType

import pytest

import tt
import tt.distributed
from tests.api.distributed.programs import run
from tt._compat.left_out import left_out

pytestmark = pytest.mark.torch

PROGRAM = """
def program(torch, dist):
    rank, size, found = dist.get_rank(), dist.get_world_size(), {}
    for name in ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8"):
        dtype = getattr(torch, name)
        x = ((torch.arange(6).reshape(2, 3) + rank) % 5).to(dtype)
        for op in ("SUM", "PRODUCT", "MIN", "MAX") + (() if dtype.is_floating_point else ("BAND", "BOR", "BXOR")):
            y = x.clone()
            dist.all_reduce(y, op=getattr(dist.ReduceOp, op))
            found[f"all_reduce {op} {name}"] = y.tolist()
            z = x.clone()
            dist.reduce(z, 1, op=getattr(dist.ReduceOp, op))
            if rank == 1:
                found[f"reduce {op} {name}"] = z.tolist()
        rows = [torch.zeros_like(x) for _ in range(size)]
        dist.all_gather(rows, x)
        found[f"all_gather {name}"] = [row.tolist() for row in rows]
        flat = torch.zeros(size * 2, 3, dtype=dtype)
        dist.all_gather_single(flat, x)
        found[f"into {name}"] = flat.tolist()
        y = x.clone()
        dist.broadcast(y, src=2)
        found[f"broadcast {name}"] = y.tolist()
        rows = [torch.zeros_like(x) for _ in range(size)] if rank == 0 else None
        dist.gather(x, rows, dst=0)
        found[f"gather {name}"] = [row.tolist() for row in rows or []]
        y = torch.zeros_like(x)
        dist.scatter(y, [x + i for i in range(size)] if rank == 1 else None, src=1)
        found[f"scatter {name}"] = y.tolist()
        y = torch.zeros_like(x)
        dist.reduce_scatter(y, [x + i for i in range(size)])
        found[f"reduce_scatter {name}"] = y.tolist()
        y = torch.zeros(3, dtype=dtype)
        dist.all_to_all_single(y, x.flatten()[:3].contiguous())
        found[f"all_to_all_single {name}"] = y.tolist()
        y = torch.zeros(3, dtype=dtype)
        dist.all_to_all_single(y, x.flatten()[:3].contiguous(), [2, 1, 0] if rank == 0 else [1, 1, 1] if rank == 1
                               else [0, 1, 2], [2, 1, 0] if rank == 0 else [1, 1, 1] if rank == 1 else [0, 1, 2])
        found[f"uneven {name}"] = y.tolist()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    found["objects"] = objects
    pair = dist.new_group([0, 2])
    found["member"] = dist.get_rank(pair), dist.get_world_size(pair), dist.get_pg_count()
    if rank != 1:
        y = torch.ones(1) * rank
        dist.all_reduce(y, group=pair)
        found["pair"] = y.tolist()
    own, groups = dist.new_subgroups_by_enumeration([[0, 1], [2]])
    found["own"] = dist.get_process_group_ranks(own)
    y = torch.zeros(1)
    works = [dist.isend(torch.ones(1) * rank, (rank + 1) % size), dist.irecv(y, (rank - 1) % size)]
    for work in works:
        work.wait()
    found["ring"] = y.tolist()
    # Before the errors: PyTorch's barrier raises what an operation raised that its thread has not put away yet.
    dist.barrier()
    for name, call in {
        "no tensor": lambda: dist.all_reduce(3),
        "no list": lambda: dist.all_gather(torch.ones(2), torch.ones(2)),
        "list too short": lambda: dist.all_gather([], torch.ones(2)),
        "another size": lambda: dist.all_gather([torch.ones(3)] * size, torch.ones(2)),
        "another dtype": lambda: dist.all_gather([torch.ones(2, dtype=torch.int32)] * size, torch.ones(2)),
        "no root": lambda: dist.broadcast(torch.ones(2)),
        "two roots": lambda: dist.broadcast(torch.ones(2), 0, group_src=0),
        "bits of floats": lambda: dist.all_reduce(torch.ones(2), op=dist.ReduceOp.BAND),
        "average of integers": lambda: dist.all_reduce(torch.ones(2, dtype=torch.int64), op=dist.ReduceOp.AVG),
        "maximum of complex": lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), op=dist.ReduceOp.MAX),
        "float8": lambda: dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fn)),
        "no list at root": lambda: dist.gather(torch.ones(2), None, dst=rank),
        "list at others": lambda: dist.gather(torch.ones(2), [torch.ones(2)] * size, dst=(rank + 1) % size),
        "splits": lambda: dist.all_to_all_single(torch.ones(3), torch.ones(3), [1, 1, 2], [1, 1, 1]),
        "to itself": lambda: dist.send(torch.ones(2), rank),
        "no message": lambda: dist.batch_isend_irecv([3]),
        "new group": lambda: dist.new_group([0, 9]),
        "twice": lambda: dist.init_process_group("gloo"),
    }.items():
        try:
            call()
            found[f"error {name}"] = "none"
        except Exception as error:
            kinds = (TypeError, ValueError, RuntimeError)
            found[f"error {name}"] = next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return found
"""

WITH_TORCH = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
torch.set_num_threads(1)
rank = int(sys.argv[1])
dist.init_process_group("gloo", store=dist.FileStore(sys.argv[2], 3), rank=rank, world_size=3)
found = program(torch, dist)
with open(f"{sys.argv[2]}.{rank}", "w") as file:
    json.dump(found, file)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    pytest.importorskip("torch.distributed")
    path = tmp_path_factory.mktemp("gloo") / "store"
    command = [sys.executable, "-c", PROGRAM + WITH_TORCH]
    running = [
        subprocess.Popen([*command, str(rank), str(path)], stderr=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    space: dict[str, object] = {}
    exec(PROGRAM, space)  # while PyTorch is imported
    ours = [json.loads(json.dumps(found)) for found in run(space["program"], 3, tt, tt.distributed)]
    errors = [each.communicate(timeout=120)[1] for each in running]
    assert [each.returncode for each in running] == [0, 0, 0], errors
    theirs = [json.loads(path.with_suffix(f".{rank}").read_text()) for rank in range(3)]
    return ours, theirs


@pytest.mark.parametrize("rank", range(3))
def test_results_and_kinds_of_errors_are_those_of_pytorch(both, rank):
    ours, theirs = both[0][rank], both[1][rank]
    assert ours.keys() == theirs.keys()
    assert {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]} == {}


def test_names_of_pytorch_are_there_or_left_out_on_purpose():
    torch = pytest.importorskip("torch.distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {
            name
            for name, value in vars(torch).items()
            if name[0] != "_" and not issubclass(type(value), ModuleType)
        }
    lacking = {name for name in names if not hasattr(tt.distributed, name)}
    assert {name for name in lacking if left_out(f"distributed.{name}") is None} == set()
