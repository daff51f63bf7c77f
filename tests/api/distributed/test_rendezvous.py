from __future__ import annotations

import socket
import sys
import threading
from datetime import timedelta
from importlib import import_module

import pytest

import tt.distributed as dist

SECONDS = timedelta(seconds=20)
VARIABLES = (
    "RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_USE_AGENT_STORE",
    "TORCHELASTIC_RUN_ID",
)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in (*VARIABLES, "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_STEP_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def meet(*addresses):
    """Return what each of the ranks has found, and that they see each other's keys."""
    found = [None] * len(addresses)
    stores = []  # rank 0's serves, and must outlive the others

    def join(number, address, arguments):
        store, rank, size = next(dist.rendezvous(address, **arguments, timeout=SECONDS))
        stores.append(store)
        store.set(f"here {rank}", str(size))
        store.wait([f"here {other}" for other in range(size)])
        found[number] = (rank, size)

    threads = [threading.Thread(target=join, args=(i, *one)) for i, one in enumerate(addresses)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_ranks_meet_at_an_address(port):
    address = f"tcp://127.0.0.1:{port}"
    assert meet((address, {"rank": 1, "world_size": 2}), (f"{address}?rank=0&world_size=2", {})) == [
        (1, 2),
        (0, 2),
    ]


def test_ranks_meet_in_a_file(tmp_path):
    address = f"file://{tmp_path}/a%20file"
    found = meet(*((address, {"rank": rank, "world_size": 3}) for rank in range(3)))
    assert found == [(0, 3), (1, 3), (2, 3)]


def test_the_environment_says_what_the_program_does_not(monkeypatch, port):
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert meet(("env://", {"rank": 0}), ("env://?rank=1", {})) == [(0, 2), (1, 2)]


def test_srun_says_everything(monkeypatch):
    for name, value in {
        "SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NODELIST": "localhost",
        "SLURM_JOB_ID": "77",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    store, rank, size = next(dist.rendezvous("env://", timeout=SECONDS))
    assert (rank, size, store.port) == (0, 1, 15000 + 77 * 37 % 10000)


def test_an_agents_store_is_used_by_all_ranks_apart_from_other_generations(monkeypatch):
    agent = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for name, value in {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(agent.port), "RANK": "0", "WORLD_SIZE": "1",
        "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RUN_ID": "job", "TT_RUN_GENERATION": "3",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    store, _, _ = next(dist.rendezvous("env://", timeout=SECONDS))
    store.set("k", "v")
    assert agent.list_keys() == ["workers/job/3/k"]


@pytest.mark.parametrize("address", ["env://", "tcp://localhost:1", "file:///nowhere/store"])
@pytest.mark.parametrize(
    ("rank", "size", "message"),
    [
        (2, 2, "rank must be from 0 to 1 where there are 2, not 2"),
        (-3, 2, "rank must be from 0 to 1 where there are 2, not -3"),
        (0, 0, "world_size must be positive, not 0"),
    ],
)
def test_a_rank_that_cannot_be_is_refused_before_anyone_waits(monkeypatch, address, rank, size, message):
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    with pytest.raises(ValueError, match=message):
        next(dist.rendezvous(address, rank=rank, world_size=size, timeout=SECONDS))


@pytest.mark.parametrize("missing", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
def test_a_missing_variable_is_named(monkeypatch, missing):
    for name, value in {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "1",
    }.items():
        if name != missing:
            monkeypatch.setenv(name, value)
    with pytest.raises(
        ValueError, match=f"env:// rendezvous: environment variable {missing} expected, but not set"
    ):
        next(dist.rendezvous("env://"))


@pytest.mark.parametrize(
    "url, arguments, kind, message",
    [
        (
            "tcp://localhost",
            {"rank": 0, "world_size": 1},
            ValueError,
            "tcp:// rendezvous: port number missing",
        ),
        ("tcp://localhost:1", {"world_size": 1}, ValueError, "tcp:// rendezvous: rank parameter missing"),
        ("tcp://localhost:1", {"rank": 0}, ValueError, "tcp:// rendezvous: world size parameter missing"),
        ("tcp://localhost:1?rank=x&world_size=1", {}, ValueError, "rank must be a whole number, not 'x'"),
        ("file://", {"rank": 0, "world_size": 1}, ValueError, "file:// rendezvous: path missing"),
        ("file:///a", {"rank": 0}, ValueError, "file:// rendezvous: world size parameter missing"),
        (
            "tcp://localhost:1?rank=0",
            {"rank": 0},
            ValueError,
            r"node-specific arguments\(rank, world_size\) already",
        ),
        (
            "carrier://pigeon",
            {},
            RuntimeError,
            "No rendezvous handler for carrier://; there are .*env://, file://",
        ),
        (5, {}, RuntimeError, "`url` must be a string"),
        ("env://", {"rank": "0"}, RuntimeError, "`rank` must be an integer"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(url, arguments, kind, message):
    with pytest.raises(kind, match=message):
        next(dist.rendezvous(url, **arguments))


def test_handlers_of_others_get_the_address_with_rank_and_size(monkeypatch):
    monkeypatch.setattr(sys.modules["tt.distributed.rendezvous"], "HANDLERS", {})
    dist.register_rendezvous_handler("mine", lambda url, **kwargs: iter([(url, kwargs)]))
    assert next(dist.rendezvous("mine://x?a=b", 1, 2, extra=3)) == (
        "mine://x?a=b&rank=1&world_size=2",
        {"extra": 3},
    )
    with pytest.raises(RuntimeError, match="handler for mine:// already registered"):
        dist.register_rendezvous_handler("mine", None)


@pytest.mark.torch
def test_pytorch_says_the_same_of_wrong_addresses():
    reference = pytest.importorskip("torch.distributed")
    for url, arguments in (
        ("tcp://localhost", {"rank": 0, "world_size": 1}),
        ("tcp://localhost:1", {"rank": 0}),
        ("file:///a", {"world_size": 1}),
        ("env://", {"rank": 0, "world_size": 1}),
    ):
        said = []
        for library in (dist, reference):
            with pytest.raises(ValueError, match="Error initializing") as caught:
                next(library.rendezvous(url, **arguments))
            message = str(caught.value).replace("torch.distributed", "tt.distributed")
            said.append(message.partition("\n")[0])  # ours has a remedy after it
        assert said[0] == said[1]


def test_under_mpiexec_without_mpi4py_an_address_is_asked_for(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr(import_module("tt.distributed.rendezvous"), "find_spec", lambda name: None)
    with pytest.raises(
        ValueError, match=r"mpiexec has started this process.*\n  try: MASTER_ADDR and MASTER_PORT"
    ):
        next(dist.rendezvous("env://"))
