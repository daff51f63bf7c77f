"""Ranks of two machines: two addresses of this one, and two network namespaces with a cable between them."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import outcomes_of

ROOT = Path(__file__).parents[3]
HOSTS = ("127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3")
"""Of four ranks; the ranks of the second one share no memory with those of the first."""


def program():
    """Use what goes over the network, in groups within a machine and across."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for count in (1, 5000, 400_000):
        x = tt.full((count,), float(rank))
        dist.all_reduce(x)
        assert x[-1].item() == size * (size - 1) / 2
        rows = tt.zeros(size, count)
        dist.all_gather_single(rows, tt.full((count,), float(rank)))
        assert rows[:, 0].tolist() == [float(each) for each in range(size)]
        x = tt.full((count,), float(rank))
        works = [dist.isend(x, (rank + 2) % size), dist.irecv(y := tt.zeros(count), (rank + 2) % size)]
        for work in works:
            work.wait()
        assert y[0].item() == (rank + 2) % size
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert [each["rank"] for each in objects] == list(range(size))
    own, _ = dist.new_subgroups(2)
    x = tt.tensor([10**rank])
    dist.all_reduce(x, group=own)
    assert x.item() == (11 if rank < 2 else 1100)
    model = tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(3, 1, bias=False))
    model(tt.full((1, 3), rank + 1.0)).sum().backward()
    assert model.module.weight.grad.tolist() == [[2.5] * 3]
    return [engine.memory is not None for engine in (dist.group.WORLD.engine("cpu"), own.engine("cpu"))]


def by_address(rank):
    """Be a rank of a machine with an address."""
    return {"TT_DISTRIBUTED_INTERFACE": HOSTS[rank], "TT_DISTRIBUTED_SHARED_MEMORY": "01"[rank < 2]}


def test_two_addresses_of_this_machine_serve_as_two_machines():
    # A group within the first machine shares memory, which the group of all ranks cannot.
    results = [result for _, result in outcomes_of(program, 4, "gloo", variables=by_address)]
    assert results == [[False, True]] * 2 + [[False, False]] * 2


@pytest.mark.exhaustive
def test_a_rank_that_is_killed_on_another_machine_is_named():
    def fail():
        dist.barrier()
        if dist.get_rank() == 3:
            os.kill(os.getpid(), 9)
        start = time.monotonic()
        with pytest.raises(dist.DistError, match="rank 3 ended without a word"):
            dist.all_reduce(tt.ones(300_000))
        return time.monotonic() - start < 30

    results = outcomes_of(fail, 4, "gloo", timedelta(seconds=60), variables=by_address)
    assert [result for _, result in results[:3]] == [True] * 3


# --- network namespaces ---------------------------------------------------------------------------------------------

SCRIPT = """
set -e
ip link set lo up
unshare -n sleep 300 & other=$!
trap 'kill $other' EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add near type veth peer name far netns $other
ip address add 10.99.0.1/24 dev near
ip link set near up
nsenter -t $other -n sh -c 'ip address add 10.99.0.2/24 dev far; ip link set far up; ip link set lo up'
run="$1 -m tt.distributed.run --nnodes=2 --nproc-per-node=2 --master-addr=10.99.0.1 --master-port=29500"
nsenter -t $other -n $run --node-rank=1 "$2" >"$3" 2>&1 &
second=$!
status=0
$run --node-rank=0 "$2" || status=$?
wait $second || true
exit $status
"""

MAIN = """
import sys
from datetime import timedelta
import tt.distributed as dist
from tests.api.distributed.test_machines import program
dist.init_process_group("gloo", timeout=timedelta(seconds=30))
found = program()
print(f"rank {dist.get_rank()}: {found}\\n", end="", flush=True)
dist.destroy_process_group()
"""


@functools.cache
def namespaces():
    """Return the command that makes a namespace, or None, and the reason."""
    for name in ("unshare", "nsenter", "ip"):
        if shutil.which(name) is None:
            return None, f"there is no {name} command"
    reason = ""
    for command in (["unshare", "-n"], ["unshare", "-Urn"]):
        probe = [*command, "ip", "link", "add", "near", "type", "veth", "peer", "name", "far"]
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return command, ""
        reason = done.stderr.strip()
    return None, f"network namespaces are not permitted: {reason}"


def run_on_two(tmp_path, **variables):
    command, reason = namespaces()
    if command is None:
        pytest.skip(reason)
    path, second = tmp_path / "program.py", tmp_path / "second"
    path.write_text(MAIN)
    done = subprocess.run(
        [*command, "sh", "-c", SCRIPT, "sh", sys.executable, str(path), str(second)],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **variables},
    )
    return done.returncode, done.stdout + done.stderr + second.read_text()


def test_two_machines_with_a_network_between_them_compute_together(tmp_path):
    code, output = run_on_two(tmp_path)
    assert code == 0, output
    # Both machines have memory of their own, so their groups use it.
    for rank in range(4):
        assert f"rank {rank}: [False, True]\n" in output


@pytest.mark.exhaustive
def test_an_interface_that_the_other_machine_cannot_reach_is_named_on_both(tmp_path):
    code, output = run_on_two(tmp_path, TT_DISTRIBUTED_INTERFACE="lo")
    assert code == 1
    assert re.search(
        r"gloo: rank [23] cannot reach rank [01] at 127\.0\.0\.1:\d+: Connection refused", output
    ), output
    assert "try: TT_DISTRIBUTED_INTERFACE with the name of the network interface" in output
