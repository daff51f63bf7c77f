"""The programs of docs/distributed.md in processes of their own, and what other launchers and addresses give."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def of_page(name, folder):
    """Write a program of the page, with a port that is free, into a folder."""
    text = re.search(rf"```python\n# {name}\n(.*?)```", PAGE, re.DOTALL)[1]
    path = folder / name
    path.write_text(text.replace(":29500", f":{free_port()}"))
    return str(path)


def started(*command, **variables):
    """Start a command without the variables of a launcher around it."""
    known = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    environment = {name: value for name, value in os.environ.items() if name not in known}
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**environment, "OMP_NUM_THREADS": "1", **variables},
    )


def output_of(process):
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, output


def test_the_program_of_the_page_runs_by_the_launcher(tmp_path):
    code, output = output_of(
        started("-m", "tt.distributed.run", "--nproc-per-node=2", of_page("sum.py", tmp_path))
    )
    assert code == 0, output
    for rank in range(2):
        assert f"rank {rank} of 2: tensor([1., 1.])" in output


def test_the_program_of_the_page_starts_its_ranks_itself(tmp_path):
    code, output = output_of(started(of_page("spawned.py", tmp_path)))
    assert code == 0, output
    found = dict(re.findall(r"rank (\d): (\[\[.*?\]\])", output))
    assert set(found) == {"0", "1"} and found["0"] == found["1"]


def test_ranks_that_nobody_launched_meet_by_variables(tmp_path):
    program, port = of_page("sum.py", tmp_path), str(free_port())
    ranks = [
        started(program, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT=port)
        for rank in range(2)
    ]
    for rank, process in enumerate(ranks):
        code, output = output_of(process)
        assert code == 0, output
        assert output == f"rank {rank} of 2: tensor([1., 1.])\n"


# --- wrong input ----------------------------------------------------------------------------------------------------

WRONG = """
import sys
from datetime import timedelta
import tt.distributed as dist
address, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo", init_method=address, rank=rank, world_size=size, timeout=timedelta(seconds=2))
"""


def test_a_port_that_another_program_has_is_named_with_its_remedy():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        code, output = output_of(started("-c", WRONG, address, "0", "2"))
    assert code == 1
    last = output.strip().splitlines()
    assert any(address.rpartition(":")[2] in line and "DistNetworkError" in line for line in last), output


def test_a_rank_without_the_others_names_them(tmp_path):
    code, output = output_of(started("-c", WRONG, f"file://{tmp_path}/store", "1", "3"))
    assert code == 1
    assert "DistTimeoutError: gloo: rank 1 waited 2 s for ranks 0, 2 of 3 to start" in output


def test_ranks_of_different_world_sizes_are_named(tmp_path):
    ranks = [started("-c", WRONG, f"file://{tmp_path}/store", str(rank), str(2 + rank)) for rank in range(2)]
    outputs = [output_of(process) for process in ranks]
    assert [code for code, _ in outputs] == [1, 1]
    for rank, (_, output) in enumerate(outputs):
        other = 1 - rank
        assert (
            f"rank {other} was started with world_size {2 + other}, and rank {rank} with {2 + rank}" in output
        )
        assert "try: the same world_size on all ranks" in output


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs files without names")
def test_without_room_for_shared_memory_the_ranks_talk_by_sockets_and_say_so(tmp_path):
    program = (
        "import resource, logging\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "logging.basicConfig(level=logging.WARNING)\n"
        + WRONG.replace("seconds=2", "seconds=20")
        + "import tt\nx = tt.ones(100_000)\ndist.all_reduce(x)\nassert x[-1].item() == 2\n"
        "print(dist.group.WORLD.engine('cpu').memory)\n"
    )
    ranks = [started("-c", program, f"file://{tmp_path}/store", str(rank), "2") for rank in range(2)]
    for rank, process in enumerate(ranks):
        code, output = output_of(process)
        assert code == 0, output
        assert "None" in output
        assert f"rank {rank} has no memory to share" in output
