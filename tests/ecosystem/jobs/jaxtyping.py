"""jaxtyping: shapes and dtypes of tensors in annotations, checked while functions run."""

import torch
from jaxtyping import Bool, Float, Float32, Int, Num, Shaped, TypeCheckError, jaxtyped
from torch import Tensor
from typeguard import typechecked

from tests.ecosystem import kit

REQUIRES = ("jaxtyping==0.3.11", "typeguard")


def shapes():
    x = kit.tensor(3, 4)
    return [
        isinstance(x, t)
        for t in (
            Float[Tensor, "3 4"],
            Float[Tensor, "a b"],
            Float[Tensor, "3"],
            Float[Tensor, "... 4"],
            Int[Tensor, "3 4"],
            Shaped[Tensor, "*batch n"],
            Float[Tensor, "n n"],
            Num[Tensor, "_ _"],
        )
    ]


def dtypes():
    values = (
        torch.ones(2),
        torch.ones(2, dtype=torch.float64),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.int32),
        torch.ones(2, dtype=torch.bool),
        torch.ones(2, dtype=torch.complex64),
    )
    return [[isinstance(x, t[Tensor, "2"]) for t in (Float, Float32, Int, Bool, Num)] for x in values]


def functions():
    @jaxtyped(typechecker=None)
    def fits(x, y):
        # The names of dimensions are bound within one call.
        return isinstance(x, Float[Tensor, "n k"]) and isinstance(y, Float[Tensor, "k m"])

    return fits(kit.tensor(2, 3), kit.tensor(3, 4)), fits(kit.tensor(2, 3), kit.tensor(2, 3))


def classes():
    from dataclasses import dataclass

    @jaxtyped(typechecker=typechecked)
    @dataclass
    class Batch:
        x: Float[Tensor, "n d"]  # noqa: F722
        y: Int[Tensor, "n"]  # noqa: F821

    try:
        Batch(kit.tensor(3, 2), torch.arange(4))
    except TypeCheckError:
        return Batch(kit.tensor(4, 2), torch.arange(4)).x, str(Float[Tensor, "a b"])
    return False
