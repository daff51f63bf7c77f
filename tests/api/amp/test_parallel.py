"""Autocast on several ranks: DistributedDataParallel and FSDP train as one process does on all of the data."""

from __future__ import annotations

import copy

import pytest

import tt
import tt.distributed as dist
import tt.nn.functional as F
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.fsdp import FullyShardedDataParallel, fully_shard
from tt.nn.parallel import DistributedDataParallel
from tt.utils.checkpoint import checkpoint

STEPS, RANKS, ROWS = 3, 2, 4


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)
        self.seen: list[tt.dtype] = []

    def forward(self, x):
        x = self.first(x)
        self.seen.append(x.dtype)
        return self.last(F.relu(x))


def fresh() -> Net:
    net = Net()
    with tt.no_grad():
        for i, parameter in enumerate(net.parameters()):
            start = tt.arange(parameter.numel(), dtype=tt.float32)
            parameter.copy_(((start + i) * 0.7).sin().reshape(parameter.shape) * 0.5)
    return net


def batch(step: int) -> tuple[tt.Tensor, tt.Tensor]:
    rows = RANKS * ROWS
    x = (tt.arange(rows * 6, dtype=tt.float32).reshape(rows, 6) * 0.3 + step).cos()
    return x, (tt.arange(rows) + step) % 3


def own(rows: tt.Tensor, rank: int) -> tt.Tensor:
    return rows[rank * ROWS : (rank + 1) * ROWS]


def of_one_process() -> tuple[list[tt.Tensor], list[float]]:
    """Return the parameters after training on all rows, the gradients of each rank's rows averaged, and the losses."""
    net = fresh()
    optimizer = tt.optim.SGD(net.parameters(), lr=0.5)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        x, y = batch(step)
        total = 0.0
        for rank in range(RANKS):
            with tt.autocast("cpu", dtype=tt.bfloat16):
                loss = F.cross_entropy(net(own(x, rank)), own(y, rank)) / RANKS
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    return [p.detach() for p in net.parameters()], losses


def trained(model: nn.Module, parameters, rank: int, *, through=None) -> list[float]:
    optimizer = tt.optim.SGD(list(parameters), lr=0.5)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        x, y = batch(step)
        with tt.autocast("cpu", dtype=tt.bfloat16):
            out = (through or model)(own(x, rank))
            assert out.dtype == tt.bfloat16
            loss = F.cross_entropy(out, own(y, rank))
        assert loss.dtype == tt.float32
        loss.backward()
        for parameter in model.parameters():
            assert parameter.grad.dtype == parameter.dtype == tt.float32
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / RANKS)
    return losses


def ddp(checkpointed: bool):
    net = fresh()
    model = DistributedDataParallel(net)

    def through(x):
        return checkpoint(model, x, use_reentrant=False)

    losses = trained(model, net.parameters(), dist.get_rank(), through=through if checkpointed else None)
    assert set(net.seen) == {tt.bfloat16}
    return [p.detach() for p in net.parameters()], losses


def sharded(checkpointed: bool):
    net = fresh()
    fully_shard(net.first)
    fully_shard(net)

    def through(x):
        return checkpoint(net, x, use_reentrant=False)

    losses = trained(net, net.parameters(), dist.get_rank(), through=through if checkpointed else None)
    assert set(net.seen) == {tt.bfloat16}
    return [p.full_tensor().detach() for p in net.parameters()], losses


def wrapped(checkpointed: bool):
    net = fresh()
    model = FullyShardedDataParallel(net, use_orig_params=True)
    losses = trained(model, model.parameters(), dist.get_rank())
    assert set(net.seen) == {tt.bfloat16}
    with FullyShardedDataParallel.summon_full_params(model):
        return [p.detach().clone() for p in net.parameters()], losses


@pytest.mark.parametrize(
    ("program", "checkpointed"),
    [(ddp, False), (ddp, True), (sharded, False), (sharded, True), (wrapped, False)],
    ids=["ddp", "ddp checkpointed", "fully_shard", "fully_shard checkpointed", "wrapped"],
)
def test_ranks_train_under_autocast_as_one_process_does(program, checkpointed):
    parameters, losses = of_one_process()
    for theirs, their_losses in run(program, RANKS, checkpointed):
        # Gradients come back in float32, so that their average is rounded as the sum of one process is.
        assert their_losses == pytest.approx(losses, rel=1e-5)
        for parameter, expected in zip(theirs, parameters, strict=True):
            tt.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-5)


def test_a_rank_that_is_a_thread_has_a_setting_of_its_own():
    def program():
        x = tt.ones(2, 3)
        with tt.autocast("cpu", dtype=tt.bfloat16, enabled=dist.get_rank() == 0):
            dist.barrier()
            y = x @ x.T
            dist.barrier()
        return y.dtype, (x @ x.T).dtype

    assert run(program, RANKS) == [(tt.bfloat16, tt.float32), (tt.float32, tt.float32)]


def test_gradients_that_are_accumulated_under_autocast_are_averaged_once():
    def program():
        net = fresh()
        model = DistributedDataParallel(copy.deepcopy(net))
        x, y = batch(0)
        for part in range(2):
            rows = slice(part * 2, part * 2 + 2)
            again = model.no_sync() if part == 0 else tt.enable_grad()
            with again, tt.autocast("cpu", dtype=tt.bfloat16):
                out = model(own(x, dist.get_rank())[rows])
                loss = F.cross_entropy(out, own(y, dist.get_rank())[rows])
            loss.backward()
        return [p.grad for p in model.parameters()]

    net = fresh()
    x, y = batch(0)
    for rank in range(RANKS):
        for part in range(2):
            rows = slice(rank * ROWS + part * 2, rank * ROWS + part * 2 + 2)
            with tt.autocast("cpu", dtype=tt.bfloat16):
                loss = F.cross_entropy(net(x[rows]), y[rows])
            (loss / RANKS).backward()
    for gradients in run(program, RANKS):
        for gradient, parameter in zip(gradients, net.parameters(), strict=True):
            tt.testing.assert_close(gradient, parameter.grad, rtol=1e-5, atol=1e-6)
