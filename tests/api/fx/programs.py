"""Programs that PyTorch and tt trace: each takes the library, and returns a root and its concrete arguments."""

import math
import operator
from collections.abc import Callable
from typing import Any

__all__ = ["PROGRAMS", "asserting"]


def arithmetic(lib: Any) -> Any:
    def f(x, y):  # type: ignore[no-untyped-def]
        a = x + y * 2 - 1 / x
        b = (a // 2) ** 2 % 3
        return -a @ b, ~(a > b), abs(a), 2 - a, x[1:, ..., None], (a << 1) | 3

    return f


def functions(lib: Any) -> Any:
    def f(x, y):  # type: ignore[no-untyped-def]
        z = lib.cat([x, y], dim=1)
        return lib.stack((z, lib.sin(z))).sum(0, keepdim=True), lib.where(x > 0, x, y)

    return f


def methods(lib: Any) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        return x.view(2, -1).t().contiguous().size(0), x.shape, x.T, x.to(lib.float64).mean(dim=[0, 1])

    return f


def arguments(lib: Any) -> Any:
    def f(x, y: int = 3, *rest, scale: float = 1.5, **options):  # type: ignore[no-untyped-def]
        return (x + y) * scale, {"a": x, "b": [y, None, (x, slice(0, y))]}

    return f


def constants(lib: Any) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        return x * float("inf") + lib.tensor([1.0, 2.0]), x == math.pi, x.to(lib.device("cpu"))

    return f


def wrapped_names(lib: Any) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        device, int_, y = x.device, x.long(), x.in_
        return device, int_, y, x.len_

    return f


def in_place(lib: Any) -> Any:
    def f(x, y):  # type: ignore[no-untyped-def]
        x = operator.iadd(x, y)
        return x

    return f


def loops(lib: Any) -> Any:
    def f(x):  # type: ignore[no-untyped-def]
        for step in range(3):
            x = x + step
        a, b = x.split(2)
        return a, b

    return f


def layers(lib: Any) -> Any:
    class Block(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.linear = lib.nn.Linear(4, 4)
            self.scale = lib.nn.Parameter(lib.ones(4))
            self.register_buffer("shift", lib.zeros(4))

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.linear(x) * self.scale + self.shift + self.scale.sum()

    class Net(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.body = lib.nn.Sequential(Block(), lib.nn.BatchNorm1d(4), Block())
            self.heads = lib.nn.ModuleList([lib.nn.Linear(4, 2), lib.nn.Linear(4, 3)])
            self.act = lib.nn.GELU()

        def forward(self, x):  # type: ignore[no-untyped-def]
            x = self.act(self.body(x))
            return [head(x) for head in self.heads]

    return Net()


def transformer(lib: Any) -> Any:
    class Attention(lib.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = lib.nn.Linear(8, 24)
            self.out = lib.nn.Linear(8, 8)
            self.norm = lib.nn.LayerNorm(8)

        def forward(self, x):  # type: ignore[no-untyped-def]
            q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(8)
            return x + self.out(scores.softmax(dim=-1) @ v)

    return Attention()


def pytrees(lib: Any) -> tuple[Any, Any]:
    def f(x, y, z):  # type: ignore[no-untyped-def]
        return {"sum": x["a"] + y[0] * y[1], "z": z}

    ph = lib.fx.PH
    return f, {"x": {"a": ph}, "y": [ph, 3]}


def flags(lib: Any) -> tuple[Any, Any]:
    def f(x, mode=None, flag=True):  # type: ignore[no-untyped-def]
        return x + 1 if flag and mode is None else x - 1

    return f, {"flag": False, "mode": None}


def asserting(x: Any) -> Any:
    """Here, since pytest writes the asserts of tests anew."""
    assert x.sum() > 0, "positive"
    return x


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    program.__name__: program
    for program in (
        arithmetic, functions, methods, arguments, constants, wrapped_names, in_place, loops, layers, transformer,
        pytrees, flags,
    )
}  # fmt: skip
