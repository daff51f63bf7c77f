"""fairscale: checkpointed modules, sharded optimizers and data parallel in one process, flat parameters, experts."""

from __future__ import annotations

import contextlib
import tempfile

import torch
from fairscale.experimental.nn.offload import OffloadModel
from fairscale.nn import FullyShardedDataParallel, checkpoint_wrapper
from fairscale.nn.data_parallel import ShardedDataParallel
from fairscale.nn.misc import FlattenParamsWrapper
from fairscale.nn.moe import MOELayer, Top2Gate
from fairscale.nn.wrap import enable_wrap, wrap
from fairscale.optim import OSS, AdaScale
from torch import distributed, nn

from tests.ecosystem import kit

REQUIRES = ("fairscale==0.4.13", "numpy")


def _net():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


@contextlib.contextmanager
def _process_group():
    with tempfile.NamedTemporaryFile() as file:
        distributed.init_process_group("gloo", init_method=f"file://{file.name}", rank=0, world_size=1)
        try:
            yield
        finally:
            distributed.destroy_process_group()


def checkpointed():
    net = kit.fill(nn.Sequential(checkpoint_wrapper(_net()), nn.Linear(3, 2)))
    x = kit.tensor(4, 6, grad=True)
    net(x).square().sum().backward()
    return x.grad, [parameter.grad for parameter in net.parameters()]


def offloaded():
    # Both say that they need a GPU; what a program without one meets is the error.
    try:
        OffloadModel(
            kit.fill(_net()), device=torch.device("cpu"), offload_device=torch.device("cpu"), num_slices=2
        )
    except TypeError as error:
        return str(error)


def sharded_optimizer():
    with _process_group():
        net = kit.fill(_net())
        optimizer = OSS(net.parameters(), optim=torch.optim.Adam, lr=0.01)
        model = ShardedDataParallel(net, optimizer)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(kit.tensor(5, 6)), kit.integers(0, 3, (5,)))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        optimizer.consolidate_state_dict()
        return losses, net[2].bias, sorted(optimizer.state_dict())


def fully_sharded():
    # Its forward pass needs streams of a GPU; on the CPU it holds and gives its state.
    with _process_group():
        net = FullyShardedDataParallel(kit.fill(_net()), compute_device=torch.device("cpu"))
        return [list(parameter.shape) for parameter in net.parameters()], net.world_size, net.extra_repr()


def flat_parameters():
    net = FlattenParamsWrapper(kit.fill(_net()))
    net(kit.tensor(4, 6)).sum().backward()
    with enable_wrap(wrapper_cls=FlattenParamsWrapper):
        wrapped = wrap(kit.fill(_net()))
    return net.flat_param.grad, list(net.state_dict()), wrapped(kit.tensor(2, 6))


def adaptive_scaling():
    net = kit.fill(_net())
    optimizer = AdaScale(torch.optim.SGD(net.parameters(), 0.1), num_gradients_to_accumulate=2, world_size=1)
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            net(kit.tensor(5, 6)).square().mean().backward()
        optimizer.step()
    return optimizer.gain(), net[2].bias


def experts():
    with _process_group():
        layer = kit.fill(MOELayer(Top2Gate(6, 2), nn.ModuleList([nn.Linear(6, 6) for _ in range(2)])))
        layer.gate.train(False)
        return list(layer(kit.tensor(4, 3, 6)).shape)
