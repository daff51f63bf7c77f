"""Pickles of tensors and related objects, with bytes and facts changed.

Loading a pickle may run its code, so any exception is acceptable.  But no memory outside the pickle's own may be read
or written, and the process must not end.
"""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.drafts import Program

__all__ = ["program"]

OBJECTS: Final = (
    "tt.tensor([[1.0, 2.0], [3.0, 4.0]])", "tt.arange(12).reshape(3, 4).transpose(0, 1)",
    "tt.arange(9)[1::3]", "tt.zeros(0, 3, dtype=tt.bfloat16)", "tt.tensor(True)",
    "tt.ones(2, 3).expand(4, 2, 3)", "tt.eye(3).to_sparse()", "tt.eye(3).to_sparse_csr()",
    "tt.ones(3, requires_grad=True)", "tt.ones(2, 2, device='meta')", "tt.arange(4).untyped_storage()",
    "tt.nn.Parameter(tt.ones(2))", "tt.Generator()", "tt.Size([2, 3])", "tt.float32", "tt.device('cpu')",
    "tt.strided", "[tt.arange(4), tt.arange(4)[1:]]",
)  # fmt: skip
PROGRAM: Final = """\
import os, pickle
import tt
data = bytearray(pickle.dumps({code}, protocol={protocol}))
{changes}child = os.fork()  # a pickle may change shared objects, as the dtypes of NumPy
if child == 0:
    try:
        found = pickle.loads(data)
        for x in found if isinstance(found, list) else [found]:
            if isinstance(x, tt.Tensor) and x.numel() < 2**24:
                x.tolist(), x.clone().add_(1), x.detach().zero_()
    finally:
        os._exit(0)
_, status = os.waitpid(child, 0)
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
"""


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program that loads a pickle; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    code, protocol = chance.choice(OBJECTS), chance.choice((0, 2, 4, 5))
    parts = [chance.choice(("byte", "byte", "integer", "cut", "copy")) for _ in range(chance.randrange(1, 4))]
    changes = ""
    for index, name in enumerate(parts):
        place, other, byte = (
            chance.randrange(2000),
            chance.randrange(2000),
            chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256))),
        )
        lines = {
            "byte": f"data[{place} % len(data)] = {byte}\n",
            # A small integer of protocol 2 and later: K and a byte, or J and four.
            "integer": f"places = [i for i, b in enumerate(data[:-1]) if b in b'KJM'] or [0]\n"
                       f"data[places[{place} % len(places)] + 1] = {byte}\n",
            "cut": f"del data[{place} % len(data) :][: {1 + other % 4}]\n",
            "copy": f"data[{place} % len(data) : {place} % len(data)] = "
                    f"data[{other} % len(data) :][: {1 + byte % 16}]\n",
        }  # fmt: skip
        if index not in dropped and name not in excluded:
            changes += lines[name]
    return Program(
        PROGRAM.format(code=code, protocol=protocol, changes=changes), tuple(parts), "pickle", patient=True
    )
