"""Models and a training loop, written for PyTorch's names: `torch` is PyTorch or tt."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

BATCH, STEPS, WORDS, LENGTH, WIDTH = 8, 4, 11, 6, 8


def perceptron(torch: Any) -> Any:
    """Return a perceptron with a hidden layer."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(LENGTH, 7), nn.GELU(), nn.Linear(7, 3))


def convnet(torch: Any) -> Any:
    """Return two convolutions with batch norm, a pooling layer and a head."""
    nn = torch.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, 1, LENGTH)),
        nn.Conv2d(1, 4, (1, 3), padding=(0, 1), bias=False),  # a bias had no gradient but rounding errors
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 3, (1, 3)),
        nn.AvgPool2d((1, 2)),
        nn.Flatten(),
        nn.Linear(6, 2),
    )


def gpt(torch: Any) -> Any:
    """Return a language model: two layers with causal attention, and a head that shares the embedding's weight."""
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            # A bias of the keys had no gradient but rounding errors: all scores of a query would grow alike.
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            heads = self.qkv(self.before(x)).view(*x.shape[:2], 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
            found = functional.scaled_dot_product_attention(*heads.unbind(0), is_causal=True)
            x = x + self.out(found.transpose(1, 2).reshape(x.shape))
            return x + self.down(functional.gelu(self.up(self.after(x))))

    class Gpt(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.layers = nn.ModuleList(Layer() for _ in range(2))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
            self.head.weight = self.words.weight

        def forward(self, x: Any) -> Any:
            x = self.words(x) + self.places(torch.arange(LENGTH))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    return Gpt()


MODELS = {"perceptron": perceptron, "convnet": convnet, "gpt": gpt}


def made(torch: Any, name: str) -> Any:
    """Return a model in double precision, whose parameters are the same in both libraries."""
    model = MODELS[name](torch).double()
    generator = np.random.default_rng(0)
    with torch.no_grad():
        for parameter in model.parameters():
            start = generator.normal(size=tuple(parameter.shape)) * 0.4
            parameter.copy_(torch.from_numpy(start))
    return model


def batches(torch: Any, name: str) -> Any:
    """Return the inputs of all steps."""
    generator = np.random.default_rng(1)
    if name == "gpt":
        return torch.from_numpy(generator.integers(0, WORDS, size=(STEPS, BATCH, LENGTH)))
    return torch.from_numpy(generator.normal(size=(STEPS, BATCH, LENGTH)))


def part(inputs: Any, rank: int, size: int) -> Any:
    """Return the inputs of a rank."""
    return inputs[:, rank * BATCH // size : (rank + 1) * BATCH // size]


def trained(torch: Any, model: Any, inputs: Any, optimizer: Any = None) -> list[float]:
    """Train, and return the losses of the inputs."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for batch in inputs:
        optimizer.zero_grad()
        found = model(batch)
        if batch.is_floating_point():
            loss = found.square().mean()
        else:
            loss = torch.nn.functional.cross_entropy(found[:, :-1].flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def state(model: Any) -> dict[str, Any]:
    """Return parameters and buffers as nested lists."""
    return {name: value.tolist() for name, value in model.state_dict().items()}


def parallel(torch: Any, rank: int, size: int) -> dict[str, Any]:
    """Train all models with DistributedDataParallel; return losses and states by model and options."""
    found: dict[str, Any] = {}
    for name in MODELS:
        for number, options in enumerate(
            ({"bucket_cap_mb": 1e-3}, {"static_graph": True}, {"gradient_as_bucket_view": True})
        ):
            model = made(torch, name)
            wrapped = torch.nn.parallel.DistributedDataParallel(model, **options)
            kind = torch.optim.AdamW if number else torch.optim.SGD
            optimizer = kind(wrapped.parameters(), lr=1e-2)
            inputs = part(batches(torch, name), rank, size)
            losses = trained(torch, wrapped, inputs[:2], optimizer)
            with wrapped.no_sync():  # the gradients of two batches add up
                wrapped(inputs[2]).square().mean().backward()
            losses += trained(torch, wrapped, inputs[3:], _Keeping(optimizer))
            found[f"{name} {number}"] = {"losses": losses, "state": state(model)}
    return found


PASSES = {
    "unused in the last": [("a", "a", False), ("b", "b", True)],
    "each rank another one": [("a", "b", False), ("b", "a", True)],
    "one rank alone": [("b", "ab", False), ("b", "b", False), ("b", "b", True)],
    "nowhere": [("b", "b", False), ("b", "b", True)],
    "once more": [("ab", "ab", False), ("b", "a", True), ("a", "a", False), ("b", "b", True)],
}
"""Passes by name: the branches that ranks 0 and 1 take, and whether gradients are averaged."""


def accumulated(torch: Any, rank: int) -> dict[str, Any]:
    """Return gradients that add up under `no_sync`, of a model of which passes use a part."""

    class Branches(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (torch.nn.Linear(3, 2) for _ in range(3))

        def forward(self, x: Any, which: str) -> Any:
            return sum(getattr(self, name)(x) for name in which)

    found: dict[str, Any] = {}
    for as_view in (False, True):
        for name, passes in PASSES.items():
            model = Branches().double()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.fill_(0.5)
            wrapped = torch.nn.parallel.DistributedDataParallel(
                model, find_unused_parameters=True, gradient_as_bucket_view=as_view
            )
            for number, (*which, averages) in enumerate(passes):
                x = torch.arange(6.0).reshape(2, 3).double() * (rank + 1) + number
                with nullcontext() if averages else wrapped.no_sync():
                    wrapped(x, which[rank]).square().sum().backward()
                found[f"{name} {as_view} {number}"] = [
                    None if parameter.grad is None else parameter.grad.tolist()
                    for parameter in model.parameters()
                ]
    return found


def compressed(torch: Any, power: Any, rank: int, size: int) -> list[Any]:
    """Return the gradients of some steps with PowerSGD, which starts with the same matrices in both libraries."""
    edge, width = 16, 2
    model = torch.nn.Sequential(*(torch.nn.Linear(edge, edge) for _ in range(2))).double()
    generator = np.random.default_rng(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(generator.normal(size=tuple(parameter.shape)) * 0.4))
    inputs = torch.from_numpy(generator.normal(size=(6, size, 4, edge)))
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    state = power.PowerSGDState(None, matrix_approximation_rank=width, start_powerSGD_iter=2)
    wrapped.register_comm_hook(state, power.powerSGD_hook)
    found = []
    for step in range(6):
        if step == 2:
            first = torch.from_numpy(generator.normal(size=(1, edge, width)))
            if torch.__name__ == "torch":  # both matrices in one tensor
                both = torch.cat([first.flatten()] * 2)
                state.p_memory_dict[0], state.q_memory_dict[0] = torch.zeros_like(both), both
            else:
                state.q_memory_dict[0] = [first, first.clone()]
        model.zero_grad()
        wrapped(inputs[step, rank]).square().mean().backward()
        found.append([parameter.grad.tolist() for parameter in model.parameters()])
    return found


class _Keeping:
    """An optimizer whose gradients are not set to zero."""

    def __init__(self, optimizer: Any) -> None:
        self.step = optimizer.step

    def zero_grad(self) -> None:
        """Do nothing."""
