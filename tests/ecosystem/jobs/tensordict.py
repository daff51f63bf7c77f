"""tensordict: indexing, stacking, modules, vmap, functional calls, memory-mapped files, tensor classes."""

from __future__ import annotations

import tempfile

import tensordict
import torch
from tensordict import TensorDict, tensorclass
from tensordict.nn import TensorDictModule, TensorDictSequential

from tests.ecosystem import kit

REQUIRES = ("tensordict==0.15.3",)


def _data():
    return TensorDict(
        {"a": kit.tensor(3, 4), "b": {"c": kit.tensor(3, 4, 2), "d": torch.arange(12).reshape(3, 4)}}, [3, 4]
    )


def _numbers(td):
    return {"/".join(k) if isinstance(k, tuple) else k: v for k, v in td.items(True, True)}


def indexing():
    td = _data()
    td["b", "e"] = td["a"] * 2
    td[0, 1] = TensorDict(
        {"a": torch.ones(()), "b": {"c": torch.ones(2), "d": torch.tensor(7), "e": torch.zeros(())}}, []
    )
    return (
        _numbers(td[1]),
        _numbers(td[:, ::2]),
        _numbers(td[td["a"] > 0]),
        _numbers(td[torch.tensor([2, 0])]),
        list(td.batch_size),
    )


def shapes():
    td = _data()
    return [
        (list(x.batch_size), _numbers(x))
        for x in (
            td.reshape(12),
            td.permute(1, 0),
            td.unsqueeze(0),
            td.expand(2, 3, 4)[0],
            td.view(-1),
            td.flatten(0, 1),
            td.split(2)[1],
            td.chunk(2, 1)[0],
            td.gather(1, torch.zeros(3, 1, dtype=torch.int64)),
            td.squeeze(),
        )
    ]


def stacking():
    td = _data()
    lazy = tensordict.lazy_stack([td, td.clone().apply(lambda x: x + 1)], 1)
    return (
        _numbers(torch.stack([td, td], 0)),
        _numbers(torch.cat([td, td], 1)),
        _numbers(lazy[:, 1]),
        _numbers(lazy.contiguous()),
        list(lazy.batch_size),
        _numbers(torch.stack(td.unbind(0), 1)),
        bool((td == td).all()),
    )


def arithmetic():
    td = _data().select("a", ("b", "c"))
    return (
        _numbers((td + 1) * 2 - td),
        _numbers(td.sum(dim=1)),
        _numbers(td.exp().clamp(max=2.0)),
        _numbers(td.to(torch.float64)),
        _numbers(td.apply(torch.sin)),
        _numbers(td.flatten_keys(".")),
        _numbers(td.mean()),
    )


def modules():
    first = kit.fill(torch.nn.Linear(4, 3))
    second = kit.fill(torch.nn.Linear(3, 2))
    module = TensorDictSequential(
        TensorDictModule(first, in_keys=["a"], out_keys=["hidden"]),
        TensorDictModule(lambda x: (x.tanh(), x.exp()), in_keys=["hidden"], out_keys=["t", "e"]),
        TensorDictModule(second, in_keys=["t"], out_keys=[("out", "y")]),
    )
    td = module(TensorDict({"a": kit.tensor(5, 4)}, [5]))
    td["out", "y"].sum().backward()
    return _numbers(td), first.weight.grad, module.in_keys, module.select_subsequence(out_keys=["t"]).out_keys


def functional():
    net = kit.fill(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)))
    params = TensorDict.from_module(net)
    x = kit.tensor(5, 4)
    with (params * 2).to_module(net):
        doubled = net(x)
    stacked = torch.stack([params, params * 0.5], 0).detach()

    def call(params, x):
        with params.to_module(net):
            return net(x)

    return doubled, net(x), torch.vmap(call, (0, None))(stacked, x), sorted(map(str, params.keys(True, True)))


def vmap():
    td = _data().select("a", ("b", "c"))
    return (
        _numbers(torch.vmap(lambda t: t.apply(lambda x: x * 2))(td)),
        torch.vmap(lambda t: t["b", "c"].sum())(td),
        _numbers(torch.vmap(lambda t, s: t + s, (1, 0))(td, torch.arange(4.0))),
    )


def files():
    td = _data()
    with tempfile.TemporaryDirectory() as folder:
        td.memmap(folder)
        loaded = TensorDict.load_memmap(folder)
        result = _numbers(loaded[1].clone()), loaded.is_memmap()
    state = td.state_dict()
    other = td.clone().zero_().load_state_dict(state)
    return result, _numbers(other), _numbers(TensorDict.from_dict(td.to_dict(), batch_size=[3, 4]))


@tensorclass
class _Data:
    images: torch.Tensor
    labels: torch.Tensor
    name: str = "x"


def classes():
    data = _Data(images=kit.tensor(4, 2, 2), labels=torch.arange(4), batch_size=[4])
    both = torch.stack([data, data])
    return (
        data[1:3].images,
        data.labels.sum(),
        list(both.batch_size),
        both.images,
        data[0].name,
        _Data.from_tensordict(data.to_tensordict()).labels,
        data.reshape(2, 2).images,
    )


def distributions():
    from tensordict.nn import InteractionType, ProbabilisticTensorDictModule, set_interaction_type

    module = TensorDictSequential(
        TensorDictModule(kit.fill(torch.nn.Linear(2, 4)), ["x"], ["params"]),
        tensordict.nn.TensorDictModule(tensordict.nn.NormalParamExtractor(), ["params"], ["loc", "scale"]),
        ProbabilisticTensorDictModule(
            ["loc", "scale"], ["action"], distribution_class=torch.distributions.Normal, return_log_prob=True
        ),
    )
    with set_interaction_type(InteractionType.MEAN):
        return _numbers(module(TensorDict({"x": kit.tensor(3, 2)}, [3])))
