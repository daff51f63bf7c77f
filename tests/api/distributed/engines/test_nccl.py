"""The engine nccl on the fake CuPy's devices, over doubles of both bindings."""

from __future__ import annotations

import gc
import sys
import threading
from datetime import timedelta
from types import ModuleType

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.engines.fake_nccl import (
    DTYPES,
    OPERATIONS,
    FakeNccl,
    NcclError,
    cupy_module,
    nccl4py_core,
)
from tests.api.distributed.programs import DTYPES as ALL
from tests.api.distributed.programs import LAYOUTS, run, values
from tests.backends.cuda.devices import fake_cuda
from tt.distributed.engines import names, nccl_libraries
from tt.distributed.engines import nccl as engine_module
from tt.distributed.engines.nccl_libraries import CupyLibrary, Nccl4pyLibrary
from tt.distributed.fsdp import fully_shard
from tt.nn.parallel import DistributedDataParallel

NATIVE = {"float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "uint32", "uint64"}


@pytest.fixture(autouse=True)
def binding(monkeypatch):
    """No binding need be installed where doubles serve."""
    monkeypatch.setitem(names._REQUIRES, "nccl", ())


@pytest.fixture
def cuda():
    with fake_cuda() as found:
        yield found
        gc.collect()


@pytest.fixture(params=["cupy", "nccl4py"])
def nccl(request, cuda, monkeypatch):
    """The double, in the place of one of the bindings."""
    fake = FakeNccl(cuda.driver)
    fake.binding = request.param
    made = (
        CupyLibrary(cupy_module(fake))
        if request.param == "cupy"
        else Nccl4pyLibrary(nccl4py_core(fake), (NcclError,))
    )
    monkeypatch.setattr(engine_module, "library", lambda: made)
    yield fake
    assert len(fake.named("connect")) == len(fake.named("destroy")) + len(fake.named("abort"))


def ranks(program, size, *args, **options):
    return run(program, size, *args, backend="nccl", **options)


def on_device(dtype, layout, seed):
    return values(dtype, layout, seed).to("cuda")


def same(tensor, expected):
    np.testing.assert_array_equal(
        tensor.cpu().to(tt.float64 if tensor.dtype is tt.bfloat16 else tensor.dtype).numpy(),
        expected.to(tt.float64 if expected.dtype is tt.bfloat16 else expected.dtype).numpy(),
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [d for d in ALL if d is not tt.complex32], ids=str)  # the CPU's alone
def test_every_collective_gives_what_threads_give(nccl, dtype):
    def program(device):
        rank, found = dist.get_rank(), []
        for layout in LAYOUTS:
            x = values(dtype, layout, rank).to(device)
            dist.all_reduce(x)
            found.append(x)
            x = values(dtype, layout, rank).to(device)
            dist.reduce(x, 1)
            found.append(x if rank == 1 else x * 0)
            x = values(dtype, layout, rank).to(device)
            dist.broadcast(x, 1)
            found.append(x)
            x = values(dtype, layout, rank).to(device)
            parts = [tt.zeros_like(x) for _ in range(2)]
            dist.all_gather(parts, x)
            found += parts
            dist.gather(x, parts if rank == 0 else None, 0)
            found += parts
            dist.scatter(x, parts if rank == 0 else None, 0)
            found.append(x)
            back = [tt.zeros_like(each) for each in parts]
            dist.all_to_all(back, [x, values(dtype, layout, rank + 5).to(device)])
            found += back
            dist.reduce_scatter(x, back)
            found.append(x)
        return [each.cpu() for each in found]

    for found, expected in zip(ranks(program, 2, "cuda"), run(program, 2, "cpu"), strict=True):
        for one, other in zip(found, expected, strict=True):
            same(one, other)


def test_dtypes_and_operations_that_nccl_has_are_its_own(nccl):
    def program(name, op):
        x = tt.ones(3).to(getattr(tt, name)).to("cuda")
        dist.all_reduce(x, op)
        return x.cpu().to(tt.float64).numpy().tolist()

    for name in sorted(NATIVE):
        nccl.calls.clear()
        connects = [("connect", 2, 0), ("connect", 2, 1)]
        assert ranks(program, 2, name, dist.ReduceOp.SUM) == [[2.0] * 3] * 2
        called = [call[1:4] for call in nccl.named("all_reduce")]
        assert called == [(3, DTYPES[name.upper()][0], OPERATIONS["SUM"])] * 2
        assert sorted(nccl.named("connect")) == connects
    for kind in ("PRODUCT", "MIN", "MAX", "AVG"):
        nccl.calls.clear()
        assert ranks(program, 2, "float32", getattr(dist.ReduceOp, kind)) == [[1.0] * 3] * 2
        assert {call[3] for call in nccl.named("all_reduce")} == {OPERATIONS[kind[:4]]}


def test_what_nccl_lacks_is_gathered_and_combined(nccl):
    def program():
        x = tt.tensor([1, 2, 4], dtype=tt.int16, device="cuda") + dist.get_rank()
        y = x.to(tt.int32)
        dist.all_reduce(x)
        dist.all_reduce(y, dist.ReduceOp.BXOR)
        return x.tolist(), y.tolist()

    assert ranks(program, 2) == [([3, 5, 9], [3, 1, 1])] * 2
    assert not nccl.named("all_reduce")


def test_complex_numbers_are_added_as_pairs(nccl):
    def program():
        x = tt.tensor([1 + 2j, 3j], device="cuda")
        dist.all_reduce(x)
        return x.tolist()

    assert ranks(program, 2) == [[2 + 4j, 6j]] * 2
    assert {call[1:3] for call in nccl.named("all_reduce")} == {(4, DTYPES["FLOAT32"][0])}


def test_factors_are_nccls_where_the_binding_has_them(nccl):
    def program():
        x = tt.tensor([2.0, 4.0], device="cuda")
        dist.all_reduce(x, dist.ReduceOp.PREMUL_SUM(0.5))
        return x.tolist()

    assert ranks(program, 2) == [[2.0, 4.0]] * 2
    made = nccl.named("factor")
    assert made == ([("factor", 0.5, DTYPES["FLOAT32"][0])] * 2 if nccl.binding == "nccl4py" else [])
    assert len(nccl.named("close")) == len(made)


def test_collectives_run_in_a_stream_of_the_group_after_the_callers(nccl):
    seen = []

    def program():
        user = tt.cuda.Stream()
        with tt.cuda.stream(user):
            x = tt.ones(2, device="cuda")
            dist.all_reduce(x)
        dist.barrier()
        seen.append(user.stream_id)
        return dist.group.WORLD.engine("cuda")._stream.stream_id

    streams = ranks(program, 2)
    assert {call[-1] for call in nccl.named("all_reduce")} == set(streams)
    assert not set(streams) & {0, *seen}


def test_asynchronous_operations_end_by_their_events(nccl, cuda):
    def program():
        x, y = tt.ones(2, device="cuda"), tt.ones(2, device="cuda")
        works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)]
        for work in works:
            assert work.wait()
        return x.tolist(), y.tolist()

    assert ranks(program, 2) == [([2.0, 2.0], [2.0, 2.0])] * 2


def test_messages_in_both_directions_do_not_wait_for_each_other(nccl):
    def program():
        rank = dist.get_rank()
        sent = [tt.full((3,), 10.0 * rank + i, device="cuda") for i in range(2)]
        back = [tt.zeros(3, device="cuda") for _ in range(2)]
        works = [dist.isend(x, 1 - rank) for x in sent]
        x = tt.ones(1, device="cuda")
        dist.all_reduce(x)  # between a send and its receive
        works += [dist.irecv(y, 1 - rank) for y in back]
        for work in works:
            work.wait()
        return [y[0].item() for y in back], x.item()

    assert ranks(program, 2) == [([10.0, 11.0], 2.0), ([0.0, 1.0], 2.0)]
    streams = {call[-1] for call in nccl.named("send")}
    assert len(streams) == 2 and not streams & {call[-1] for call in nccl.named("all_reduce")}
    assert {call[1:3] for call in nccl.named("send")} == {(12, DTYPES["UINT8"][0])}
    assert {call[3] for call in nccl.named("send")} == {1} and {c[3] for c in nccl.named("recv")} == {0}


def test_a_receive_from_any_rank_is_refused(nccl):
    def program():
        with pytest.raises(dist.DistBackendError, match="does not receive from any"):
            dist.recv(tt.zeros(1, device="cuda"))
        dist.barrier()

    ranks(program, 2)


def test_all_to_all_sends_and_receives_in_one_group(nccl):
    def program():
        rank = dist.get_rank()
        sizes, back = ([1, 2], [1, 0]) if rank == 0 else ([0, 1], [2, 1])
        y = tt.zeros(sum(back), device="cuda")
        dist.all_to_all_single(y, tt.arange(float(sum(sizes))).to("cuda") + 10 * rank, back, sizes)
        return y.tolist()

    assert ranks(program, 2) == [[0.0], [1.0, 2.0, 10.0]]
    assert len(nccl.named("send")) == 3 and len(nccl.named("recv")) == 3


def test_groups_are_split_off_by_nccl(nccl):
    def program():
        pair = dist.new_group([0, 2])
        x = tt.ones(1, device="cuda")
        if dist.get_rank() != 1:
            dist.all_reduce(x, group=pair)
        return x.item()

    assert ranks(program, 3) == [2.0, 1.0, 2.0]
    assert sorted(nccl.named("split")) == [("split", -1, 0), ("split", 0, 0), ("split", 0, 1)]


def test_ranks_use_their_current_devices(nccl):
    def bound(rank, store):
        from tt.distributed.world import World

        world = World.of_thread()
        dist.init_process_group("nccl", store=store, rank=rank, world_size=2, device_id=rank)
        x = tt.ones(2, device=f"cuda:{rank}")
        dist.all_reduce(x)
        with pytest.raises(dist.DistBackendError, match=f"device is cuda:{rank}, and the tensor is on cuda"):
            dist.all_reduce(tt.ones(2, device=f"cuda:{1 - rank}"))
        found[rank] = x.tolist()
        for each in world.groups.values():
            each.abort()
        dist.destroy_process_group()
        world.forget_thread()

    found, store = {}, dist.HashStore()
    threads = [threading.Thread(target=bound, args=(rank, store)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [2.0, 2.0], 1: [2.0, 2.0]}


def test_different_collectives_are_found_before_nccl_starts(nccl):
    def program():
        with pytest.raises(dist.CollectiveMismatchError, match="rank 1 is at broadcast"):
            if dist.get_rank() == 1:
                dist.broadcast(tt.ones(2, device="cuda"), 0)
            else:
                dist.all_reduce(tt.ones(2, device="cuda"))
        dist.barrier()

    ranks(program, 3)
    assert not nccl.named("all_reduce") and not nccl.named("broadcast")


def test_an_error_of_a_call_is_an_error_of_the_engine(nccl):
    def program():
        dist.barrier()
        dist.barrier()
        nccl.refusing = "unhandled system error"
        try:
            with pytest.raises(dist.DistBackendError, match="nccl: unhandled system error"):
                dist.all_reduce(tt.ones(2, device="cuda"))
        finally:
            nccl.refusing = None

    ranks(program, 1)


def test_the_stream_waits_for_a_collective_and_the_host_does_not(nccl, cuda):
    def program():
        x = tt.ones(2, device="cuda")
        stream = tt.cuda.Stream()
        with cuda.driver.hold():
            work = dist.all_reduce(x, async_op=True)
            with tt.cuda.stream(stream):
                assert work.wait()
            dist.all_reduce(tt.ones(3, device="cuda"), async_op=True)
            waited = not work.is_completed()
            with pytest.raises(dist.DistTimeoutError, match=r"did not end within 0\.1 s"):
                work.wait(0.1)  # with a timeout the host waits
        tt.cuda.synchronize()
        work.wait(20)
        return waited, work.is_success(), x.tolist()

    assert ranks(program, 1) == [(True, True, [1.0, 1.0])]


@pytest.mark.parametrize("call", ["synchronous", "asynchronous"])
def test_what_follows_wait_is_ordered_by_an_event_of_the_groups_stream(nccl, cuda, monkeypatch, call):
    waits = []

    def program():
        x = tt.ones(2, device="cuda")
        own, current = dist.group.WORLD.engine("cuda")._stream, tt.cuda.current_stream()
        record, wait_event = type(own).record_event, type(own).wait_event
        recorded = {}

        def recorded_event(stream, *args):
            event = record(stream, *args)
            recorded[id(event)] = (stream.stream_id, event, len(nccl.named("all_reduce")))
            return event

        def waited(stream, event):
            source, _, before = recorded.get(id(event), (None, None, None))
            waits.append((stream.stream_id, source, before))
            return wait_event(stream, event)

        monkeypatch.setattr(type(own), "record_event", recorded_event)
        monkeypatch.setattr(type(own), "wait_event", waited)
        if call == "synchronous":
            dist.all_reduce(x)
        else:
            dist.all_reduce(x, async_op=True).wait()
        monkeypatch.undo()
        return own.stream_id, current.stream_id

    with cuda.driver.hold():
        ((own, current),) = ranks(program, 1)
    # The group's stream waits for the caller's before NCCL is called, the caller's for the group's after.
    assert (own, current, 0) in waits and waits[-1] == (current, own, 1)


def test_an_error_that_comes_after_wait_ends_the_group(nccl, cuda):
    def program():
        with cuda.driver.hold():
            work = dist.all_reduce(tt.ones(2, device="cuda"), async_op=True)
            assert work.wait()
            nccl.failing = "remote process exited"
            with pytest.raises(dist.DistBackendError, match="nccl: remote process exited"):
                work.wait(20)
        with pytest.raises(dist.DistBackendError, match="cannot be used after an error"):
            dist.all_reduce(tt.ones(2, device="cuda"))

    ranks(program, 1)
    assert nccl.named("abort") and not nccl.named("destroy")


def test_an_asynchronous_error_aborts_the_communicator(nccl, cuda, monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_BLOCKING_WAIT", "1")

    def program():
        nccl.failing = "remote process exited"
        with cuda.driver.hold(), pytest.raises(dist.DistBackendError, match="nccl: remote process exited"):
            dist.all_reduce(tt.ones(2, device="cuda"))
        with pytest.raises(dist.DistBackendError, match="cannot be used after an error"):
            dist.all_reduce(tt.ones(2, device="cuda"))

    ranks(program, 1)
    assert nccl.named("abort") and not nccl.named("destroy")


def test_what_does_not_end_in_time_is_aborted(nccl, cuda, monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_BLOCKING_WAIT", "1")

    def program():
        with cuda.driver.hold(), pytest.raises(dist.DistTimeoutError, match=r"did not end within 0\.3 s"):
            dist.all_reduce(tt.ones(2, device="cuda"))

    ranks(program, 1, timeout=timedelta(seconds=0.3))
    assert nccl.named("abort") and not nccl.named("destroy")


def test_ranks_that_do_not_come_are_named_before_nccl_waits(nccl):
    with pytest.raises(
        dist.DistTimeoutError, match=r"nccl: rank 0 waited 0.2 s for ranks 1, 2 of 3 to start"
    ):
        dist.init_process_group(
            "nccl", store=dist.HashStore(), rank=0, world_size=3, timeout=timedelta(seconds=0.2)
        )
    assert not nccl.calls


def test_the_tensors_device_chooses_the_engine(nccl):
    def program():
        x, y = tt.ones(1), tt.ones(1, device="cuda")
        dist.all_reduce(x)
        dist.all_reduce(y)
        return x.item(), y.item(), dist.get_backend_config()

    assert run(program, 2, backend="cpu:threads,cuda:nccl") == [(2.0, 2.0, "cpu:threads,cuda:nccl")] * 2
    assert len(nccl.named("all_reduce")) == 2


def test_without_a_gpu_the_error_says_so(monkeypatch):
    monkeypatch.setattr(engine_module, "library", lambda: CupyLibrary(cupy_module(FakeNccl())))
    with pytest.raises(dist.DistBackendError, match="needs a CUDA device"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


def test_nccl4py_serves_before_cupys_binding(monkeypatch):
    core = ModuleType("nccl.core")
    core.NcclInvalid = type("NcclInvalid", (Exception,), {})
    bindings = ModuleType("nccl.bindings.nccl")
    bindings.NCCLError = NcclError
    package = ModuleType("nccl")
    package.core = core
    cupys = ModuleType("cupy_backends.cuda.libs.nccl")
    cupys.NcclError = NcclError
    libraries = ModuleType("cupy_backends.cuda.libs")
    libraries.nccl = cupys
    for module in (package, core, bindings, cupys, libraries):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "nccl.bindings", ModuleType("nccl.bindings"))
    found = nccl_libraries.library()
    assert isinstance(found, Nccl4pyLibrary) and found.core is core
    assert found.errors == (core.NcclInvalid, NcclError)
    monkeypatch.setitem(sys.modules, "nccl", None)
    for name in ("cupy_backends", "cupy_backends.cuda"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    found = nccl_libraries.library()
    assert isinstance(found, CupyLibrary) and found.module is cupys


def test_without_a_binding_the_error_says_what_to_install(monkeypatch):
    for name in ("nccl", "cupy_backends.cuda.libs"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(dist.DistBackendError, match="pip install nccl4py"):
        nccl_libraries.library()


@pytest.mark.gpu
def test_one_rank_on_a_gpu():
    if not tt.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU")
    try:
        nccl_libraries.library()
    except dist.DistBackendError as error:
        pytest.skip(str(error))

    def program():
        x = tt.ones(4, device="cuda", dtype=tt.bfloat16)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        work = dist.all_reduce(x, async_op=True)
        work.wait()
        y = tt.zeros(4, device="cuda", dtype=tt.bfloat16)
        dist.all_to_all_single(y, x)
        return y.tolist()

    assert ranks(program, 1) == [[1.0] * 4]


def test_objects_travel_by_the_device_where_the_group_has_no_engine_for_the_cpu(nccl):
    def program():
        rank, found = dist.get_rank(), [None] * 2
        dist.all_gather_object(found, {"rank": rank})
        gathered = [None] * 2 if rank == 0 else None
        dist.gather_object("x" * (rank + 1), gathered, 0)
        shared = ["text", {5}] if rank == 1 else [None, None]
        dist.broadcast_object_list(shared, 1)
        own = [None]
        dist.scatter_object_list(own, [[1], [2, 3]] if rank == 0 else None, 0)
        sent = [None]
        if rank == 0:
            dist.send_object_list(["message"], 1)
        else:
            dist.recv_object_list(sent, 0)
        return found, gathered, shared, own, sent

    every = [{"rank": 0}, {"rank": 1}], ["text", {5}]
    assert ranks(program, 2) == [
        (every[0], ["x", "xx"], every[1], [[1]], [None]),
        (every[0], None, every[1], [[2, 3]], ["message"]),
    ]


@pytest.mark.parametrize("form", ["parallel", "sharded"])
def test_training_is_that_of_one_process(nccl, form):
    def steps(model, batches):
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1)
        for batch in batches:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()

    data = tt.arange(24.0).reshape(2, 4, 3) / 24
    alone = tt.nn.Linear(3, 4)
    start = {name: value.clone() for name, value in alone.state_dict().items()}
    steps(alone, data)

    def program():
        model = tt.nn.Linear(3, 4)
        model.load_state_dict(start)
        model = (DistributedDataParallel if form == "parallel" else fully_shard)(model.to("cuda"))
        rank = dist.get_rank()
        steps(model, data[:, 2 * rank : 2 * rank + 2].to("cuda"))
        weight = model.module.weight if form == "parallel" else model.weight.full_tensor()
        return weight.detach().cpu().numpy()

    for found in ranks(program, 2):
        np.testing.assert_allclose(found, alone.weight.detach().numpy(), rtol=1e-5)
    expected = {"parallel": "all_reduce", "sharded": "reduce_scatter"}[form]
    assert {call[1] for call in nccl.named(expected)} == {16 if form == "parallel" else 8}
