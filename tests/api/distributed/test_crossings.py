"""Devices and ranks crossed with what programs do: equal to one process on the CPU, or refused in clear words."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tests.backends.array_api.devices import device
from tests.backends.strict_device import strict_device
from tt import func, nn
from tt.autograd import forward_ad
from tt.distributed.fsdp import FullyShardedDataParallel, ShardedParameter, ShardingStrategy, fully_shard
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel
from tt.utils.checkpoint import checkpoint

BATCHES = np.random.default_rng(0).normal(size=(3, 4, 4))


class Setting:
    """How a program runs: on a device, with a model that is divided or copied among ranks.

    Attributes
    ----------
    device : str
        Where its tensors are.
    size : int
        How many ranks there are; 1 for none.
    """

    def __init__(
        self, device: str = "cpu", size: int = 1, wrap: Callable[[Any], Any] | None = None, zero: bool = False
    ) -> None:
        self.device, self.size, self.wrap, self.zero = device, size, wrap, zero

    def model(self, module: nn.Module) -> Any:
        module.to(self.device)
        return module if self.wrap is None else self.wrap(module)

    def batch(self, array: np.ndarray[Any, Any]) -> tt.Tensor:
        rank, count = (dist.get_rank(), len(array) // self.size) if self.size > 1 else (0, len(array))
        return tt.from_numpy(array[rank * count :][:count].copy()).to(self.device)

    def optimizer(self, kind: Any, model: Any, **options: Any) -> Any:
        if self.zero:
            return ZeroRedundancyOptimizer(model.parameters(), kind, **options)
        return kind(model.parameters(), **options)

    def run(self, program: Callable[[Setting], Any], engine: str) -> list[Any]:
        if self.size == 1:
            return [program(self)]
        backend = engine if self.device == "cpu" else f"cpu:{engine},{self.device}:{engine}"
        return run(lambda: program(self), self.size, backend=backend)


def shard(**options: Any) -> Callable[[Any], Any]:
    def wrap(module: Any) -> Any:
        for block in module.blocks:
            fully_shard(block, **options)
        return fully_shard(module, **options)

    return wrap


def ddp(**options: Any) -> Callable[[Any], Any]:
    return lambda module: DistributedDataParallel(module, **options)


def wrapper(strategy: ShardingStrategy) -> Callable[[Any], Any]:
    return lambda module: FullyShardedDataParallel(
        module, sharding_strategy=strategy, auto_wrap_policy={Block}
    )


SETTINGS = {
    "strict": Setting("strict"),
    "numpy": Setting("numpy_arrays"),
    "ddp": Setting(size=2, wrap=ddp()),
    "ddp, views of buckets": Setting(size=2, wrap=ddp(gradient_as_bucket_view=True)),
    "ddp, unused": Setting(size=2, wrap=ddp(find_unused_parameters=True)),
    "ddp, strict": Setting("strict", 2, ddp()),
    "zero": Setting(size=2, wrap=ddp(), zero=True),
    "zero, numpy": Setting("numpy_arrays", 2, ddp(), zero=True),
    "fsdp": Setting(size=2, wrap=shard()),
    "fsdp, kept": Setting(size=2, wrap=shard(reshard_after_forward=False)),
    "fsdp, strict": Setting("strict", 2, shard()),
    "fsdp, numpy": Setting("numpy_arrays", 2, shard()),
    "fsdp wrapper": Setting(size=2, wrap=wrapper(ShardingStrategy.FULL_SHARD)),
    "fsdp wrapper, gradients": Setting(size=2, wrap=wrapper(ShardingStrategy.SHARD_GRAD_OP)),
}


RUNS = [(name, "threads") for name in SETTINGS] + [
    (name, "gloo") for name, setting in SETTINGS.items() if setting.size > 1 and setting.device == "cpu"
]


@contextmanager
def devices() -> Iterator[None]:
    with strict_device(), device(np, "numpy_arrays"):
        yield


# --- the model -----------------------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 5), nn.Linear(5, 4)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.outer(self.inner(x).tanh())


class Model(nn.Module):
    def __init__(self, through: Callable[[Any, tt.Tensor], tt.Tensor]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.weight = nn.Parameter(tt.ones(4, 4))
        self.register_buffer("steps", tt.zeros(()))
        self.through = through

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.through(self, x)


def plain(model: Any, x: tt.Tensor) -> tt.Tensor:
    for block in model.blocks:
        x = x + block(x)
    return x @ model.weight


def in_place(model: Any, x: tt.Tensor) -> tt.Tensor:
    x = model.blocks[0](x)
    x.mul_(2).add_(1)
    x[:, 0] = x[:, 1].clone() ** 2
    y = model.blocks[1](x)
    y[:, 1:].clamp_(min=-1).mul_(x[:, 1:])
    y.t()[2].fill_(0.5)
    model.steps.add_(1)
    return y @ model.weight


def views(model: Any, x: tt.Tensor) -> tt.Tensor:
    weight = model.weight
    pairs = tt.view_as_complex(weight.view(4, 2, 2))
    first, second = weight.t().chunk(2)
    x = plain(model, x) + weight[1] * weight.diagonal() + weight.view(-1)[3::4]
    return x * (first * second).sum(0) + (pairs * pairs).imag.repeat(1, 2).narrow(0, 1, 1)


def checkpointed(model: Any, x: tt.Tensor) -> tt.Tensor:
    for block in model.blocks:
        x = x + checkpoint(block, x, use_reentrant=False)
    return checkpoint(lambda y: y @ model.weight, x, use_reentrant=False)


def made(setting: Setting, through: Callable[[Any, tt.Tensor], tt.Tensor] = plain) -> Any:
    module = Model(through).double()
    generator = np.random.default_rng(1)
    with tt.no_grad():
        for parameter in module.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape)) / 2))
    return setting.model(module)


def values(model: Any) -> list[np.ndarray[Any, Any]]:
    return [
        (p.full_tensor() if isinstance(p, ShardedParameter) else p.detach()).cpu().numpy().copy()
        for p in model.parameters()
    ]


def step(setting: Setting, model: Any, optimizer: Any, array: np.ndarray[Any, Any]) -> None:
    optimizer.zero_grad()
    model(setting.batch(array)).square().mean().backward()
    optimizer.step()


# --- the programs --------------------------------------------------------------------------------------------------


def train(
    through: Callable[..., Any] = plain, kind: Any = tt.optim.SGD, **options: Any
) -> Callable[[Setting], Any]:
    def program(setting: Setting) -> Any:
        model = made(setting, through)
        optimizer = setting.optimizer(kind, model, **{"lr": 0.05, **options})
        for array in BATCHES:
            step(setting, model, optimizer, array)
        return values(model)

    return program


def add_up(setting: Setting) -> Any:
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    for array in BATCHES[:2]:
        quiet = model.no_sync() if hasattr(model, "no_sync") else nullcontext()
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(False)
        with quiet:
            model(setting.batch(array)).square().mean().backward()
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(True)
        model(setting.batch(array * 2)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return values(model)


def differentiate_twice(setting: Setting) -> Any:
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    for array in BATCHES:
        x = setting.batch(array).requires_grad_()
        optimizer.zero_grad()
        loss = model(x).tanh()
        (slope,) = tt.autograd.grad(loss.sum(), x, create_graph=True)
        (loss.mean() + slope.square().mean()).backward()
        optimizer.step()
    return values(model)


def clip(function: Callable[[Any], Any]) -> Callable[[Setting], Any]:
    def program(setting: Setting) -> Any:
        model = made(setting)
        optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.5)
        norms = []
        for array in BATCHES:
            optimizer.zero_grad()
            model(setting.batch(array)).square().mean().backward()
            norm = function(list(model.parameters()))
            norms.append(np.zeros(()) if norm is None else norm.cpu().numpy())
            optimizer.step()
        return [*norms, *values(model)]

    return program


def save_and_load(setting: Setting) -> Any:
    """Go on from a file, with another model and another optimizer."""
    model = made(setting, in_place)
    optimizer = setting.optimizer(tt.optim.Adam, model, lr=0.05)
    step(setting, model, optimizer, BATCHES[0])
    if setting.zero:
        optimizer.consolidate_state_dict(0)
    states: list[Any] = [model.state_dict(), None]
    if not setting.zero or dist.get_rank() == 0:
        states[1] = optimizer.state_dict()
    file = io.BytesIO()
    tt.save(states, file)
    file.seek(0)
    states = tt.load(file)
    if setting.zero:
        dist.broadcast_object_list(states, 0)
    other = made(setting, in_place)
    later = setting.optimizer(tt.optim.Adam, other, lr=0.05)
    with tt.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(states[0])
    later.load_state_dict(states[1])
    for array in BATCHES[1:]:
        step(setting, other, later, array)
    return values(other)


def copy_and_train(setting: Setting) -> Any:
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    step(setting, model, optimizer, BATCHES[0])
    other = copy.deepcopy(model)
    assert all(parameter.grad is None for parameter in other.parameters())
    later = setting.optimizer(tt.optim.SGD, other, lr=0.1)
    for array in BATCHES[1:]:
        step(setting, other, later, array)
    return [*values(model), *values(other)]


def infer(setting: Setting) -> Any:
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    outputs = []
    for array in BATCHES:
        step(setting, model, optimizer, array)
        with tt.inference_mode():
            output = model(tt.from_numpy(array).to(setting.device))
            assert output.is_inference() and not output.requires_grad
        with tt.no_grad():
            outputs += [output.cpu().numpy(), model(tt.from_numpy(array).to(setting.device)).cpu().numpy()]
    return outputs


def convert(setting: Setting) -> Any:
    """Change the dtype after the optimizer was made, which keeps the parameters."""
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    model.float()
    model.double()
    for array in BATCHES:
        step(setting, model, optimizer, array)
    return values(model)


def load(setting: Setting) -> Any:
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    data = tt.utils.data.TensorDataset(tt.from_numpy(BATCHES.reshape(12, 4)))
    sampler = tt.utils.data.BatchSampler(range(12), 4, drop_last=False)
    for (rows,) in tt.utils.data.DataLoader(data, batch_sampler=sampler):
        step(setting, model, optimizer, rows.numpy())
    return values(model)


def load_collated(setting: Setting) -> Any:
    """Put batches together from samples on the device: dicts of tensors, numbers, arrays and tuples."""
    model = made(setting)
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    rows = BATCHES.reshape(12, 4)
    data = [
        {"x": tt.from_numpy(row.copy()).to(setting.device), "pair": (i, row[:2].copy()), "name": str(i)}
        for i, row in enumerate(rows)
    ]
    found = []
    for batch in tt.utils.data.DataLoader(data, batch_size=4):
        assert batch["x"].device.type == setting.device and batch["name"][0] == str(
            batch["pair"][0][0].item()
        )
        found += [batch["pair"][0].numpy(), batch["pair"][1].numpy()]
        step(setting, model, optimizer, batch["x"].cpu().numpy())
    return [*found, *values(model)]


def transform(call: Callable[[Any, tt.Tensor], Any]) -> Callable[[Setting], Any]:
    """Transform the model, on every rank for the whole batch."""

    def program(setting: Setting) -> Any:
        model = made(setting)
        results = call(model, tt.from_numpy(BATCHES[0].copy()).to(setting.device))
        results = results if isinstance(results, tuple) else (results,)
        return [result.detach().cpu().numpy() for result in results]

    return program


def by_parameters(model: Any, x: tt.Tensor) -> Any:
    def loss(parameters: Any) -> tt.Tensor:
        return func.functional_call(model, parameters, (x,)).square().mean()

    return tuple(func.grad(loss)(dict(model.named_parameters())).values())


def dual(model: Any, x: tt.Tensor) -> Any:
    with forward_ad.dual_level():
        return tuple(forward_ad.unpack_dual(model(forward_ad.make_dual(x, x.cos()))))


def initialise(setting: Setting) -> Any:
    """Draw parameters after they were divided."""
    model = made(setting)
    generator = tt.Generator(setting.device).manual_seed(5)
    for block in [block for module in model.modules() for block in getattr(module, "blocks", ())][:2]:
        nn.init.kaiming_uniform_(block.inner.weight, a=0.5, generator=generator)
        nn.init.trunc_normal_(block.inner.bias, generator=generator)
        nn.init.orthogonal_(block.outer.weight, generator=generator)
        with tt.no_grad():
            block.outer.bias.uniform_(-1, 1, generator=generator)
            block.outer.weight[1] = 0.5
    optimizer = setting.optimizer(tt.optim.SGD, model, lr=0.05)
    for array in BATCHES:
        step(setting, model, optimizer, array)
    return values(model)


class Refusal(NamedTuple):
    """In which settings a program is refused, and in which words."""

    settings: tuple[str, ...]
    error: type[Exception]
    words: str


FSDP = ("fsdp", "fsdp, kept", "fsdp, strict", "fsdp, numpy", "fsdp wrapper", "fsdp wrapper, gradients")
WIDE = {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}

PROGRAMS: dict[str, tuple[Callable[[Setting], Any], Refusal | None]] = {
    "operators in place": (train(in_place), None),
    "views": (train(views), None),
    "checkpoints": (train(checkpointed), None),
    "double backward": (differentiate_twice, None),
    "SGD": (train(kind=tt.optim.SGD, **WIDE), None),
    "SGD, one by one": (train(kind=tt.optim.SGD, foreach=False, momentum=0.9), None),
    "Adam": (train(kind=tt.optim.Adam, amsgrad=True), None),
    "AdamW": (train(kind=tt.optim.AdamW), None),
    "Adagrad": (train(kind=tt.optim.Adagrad), None),
    "Adadelta": (train(kind=tt.optim.Adadelta), None),
    "Adamax": (train(kind=tt.optim.Adamax), None),
    "NAdam": (train(kind=tt.optim.NAdam), None),
    "RAdam": (train(kind=tt.optim.RAdam), None),
    "RMSprop": (train(kind=tt.optim.RMSprop, centered=True, momentum=0.5), None),
    "Rprop": (train(kind=tt.optim.Rprop), None),
    "ASGD": (train(kind=tt.optim.ASGD), None),
    "Adafactor": (
        train(kind=tt.optim.Adafactor),
        Refusal(FSDP, NotImplementedError, "Adafactor: tensor 0 is divided among ranks"),
    ),
    "clipped by the norm": (clip(lambda p: nn.utils.clip_grad_norm_(p, 0.1)), None),
    "clipped by the largest": (clip(lambda p: nn.utils.clip_grad_norm_(p, 0.1, float("inf"))), None),
    "clipped by value": (clip(lambda p: nn.utils.clip_grad_value_(p, 0.01)), None),
    "gradients that add up": (add_up, None),
    "files": (save_and_load, None),
    "deepcopy": (copy_and_train, Refusal(FSDP, AssertionError, "FSDP does not support deepcopy")),
    "inference": (infer, None),
    "conversion": (convert, None),
    "loaders": (load, None),
    "collation": (load_collated, None),
    "initialisation": (initialise, None),
    "grad": (transform(lambda m, x: func.grad(lambda v: m(v).square().mean())(x)), None),
    "vjp": (transform(lambda m, x: func.vjp(m, x)[1](x.cos())[0]), None),
    "jvp": (transform(lambda m, x: func.jvp(m, (x,), (x.cos(),))), None),
    "vmap": (transform(lambda m, x: func.vmap(m)(x)), None),
    "grad under vmap": (transform(lambda m, x: func.vmap(func.grad(lambda v: m(v).square().sum()))(x)), None),
    "jacfwd": (transform(lambda m, x: func.jacfwd(lambda v: m(v).sum(0))(x)), None),
    "dual numbers": (transform(dual), None),
    "functional_call": (
        transform(by_parameters),
        Refusal(FSDP, NotImplementedError, "parameter .* is not the one"),
    ),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What one process on the CPU computes, program by program."""
    return {}


@pytest.mark.sampled(20)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("name", "engine"), RUNS)
def test_a_program_gives_what_one_process_on_the_cpu_does_or_is_refused(
    name: str, engine: str, program: str, expected: dict[str, Any]
) -> None:
    call, refusal = PROGRAMS[program]
    with devices():
        if refusal is not None and name in refusal.settings:
            with pytest.raises(refusal.error, match=refusal.words):
                SETTINGS[name].run(call, engine)
            return
        if program not in expected:
            expected[program] = call(Setting())
        for result in SETTINGS[name].run(call, engine):
            for ours, theirs in zip(result, expected[program], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
