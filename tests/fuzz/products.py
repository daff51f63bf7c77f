"""Products of vectors, matrices and batches: odd sizes, strides, overlaps and targets, against NumPy in high precision.

The sizes lie around those at which kernels change blocks, vectors and threads.  `TT_PRODUCTS` chooses the kernels of
a whole run.
"""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np

import tt
from tests.fuzz.drafts import Program
from tests.fuzz.mutations import LIMITS
from tt.testing.references import as_array

__all__ = ["agrees", "program"]

DTYPES: Final = (
    "float32", "float32", "float64", "bfloat16", "bfloat16", "float16", "complex64", "complex128", "complex32",
    "int32", "int64", "uint8", "bool",
)  # fmt: skip
EDGES: Final = (4, 6, 8, 12, 16, 24, 31, 32, 48, 64, 72, 96, 128, 192, 256, 384, 512, 1024)
MOST: Final = 3_000_000
"""Multiplications of a product."""
EPS: Final = {
    "float16": 2.0**-10, "complex32": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23,
    "float64": 2.0**-52, "complex128": 2.0**-52,
}  # fmt: skip
LAYOUTS: Final = (
    "plain", "plain", "transposed", "stepped", "offset", "expanded", "windowed", "unaligned", "reversed", "read_only",
)  # fmt: skip
FORMS: Final = {
    "mm": "mk,kn->mn", "matmul": "mk,kn->mn", "addmm": "mk,kn->mn", "mv": "mk,k->m", "addmv": "mk,k->m", "dot": "k,k->",
    "bmm": "bmk,bkn->bmn", "baddbmm": "bmk,bkn->bmn", "addbmm": "bmk,bkn->mn", "linear": "mk,nk->mn",
    "outer": "m,n->mn", "addr": "m,n->mn", "matmul_wide": "bmk,kn->bmn", "einsum": "mk,bkn->bmn",
    "einsum_crossed": "kbm,nkb->nm",
}  # fmt: skip
ADDING: Final = ("addmm", "addmv", "baddbmm", "addbmm", "addr", "linear")


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a product; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    op = chance.choice(tuple(FORMS))
    left, _, rest = FORMS[op].partition(",")
    right, _, result = rest.partition("->")
    sizes = _sizes(chance, {*left, *right})
    dtype = chance.choice(DTYPES)
    layouts = [chance.choice(LAYOUTS) for _ in range(3)]
    form = chance.choice(("new", "new", "out", "out of a", "strided out"))
    limit = chance.choice(LIMITS)
    parts = [*layouts, form, "cache"]
    for index, name in enumerate(parts):
        if index in dropped or name in excluded:
            parts[index] = "plain" if index < 3 else "new" if index == 3 else ""
    lines = ["import mmap", "import numpy as np", "import tt", "from tests.fuzz.products import agrees"]
    if parts[4]:
        lines.append(f"tt.cpu.set_cache_limit({limit})")
    lines.append(f"draw = np.random.default_rng({chance.getrandbits(32)})")
    shapes = [tuple(sizes[letter] for letter in letters) for letters in (left, right, result)]
    if op == "linear":
        shapes[2] = shapes[2][-1:]
    for name, shape, layout in zip("abc", shapes, parts, strict=False):
        lines += _tensor(name, shape, dtype, layout, chance)
    adding, beta, alpha = op in ADDING, 1, 1
    if op == "linear":
        adding = chance.random() < 0.7
        call = f"tt.ops.linear(a, b, {'c' if adding else None}"
    elif adding:
        beta, alpha = chance.choice((1, 0, 2, -1)), chance.choice((1, 0, 2, -3))
        call = f"tt.{op}(c, a, b, beta={beta}, alpha={alpha}"
    elif op.startswith("einsum"):
        call = f"tt.einsum({FORMS[op]!r}, a, b"
    else:
        call = f"tt.{op.removesuffix('_wide')}(a, b"
    wanted = f"{FORMS[op]!r}, {adding}, {beta}, {alpha}, before"
    lines += [
        "before = [np.array(x.numpy()) for x in (a, b, c)]",
        f"result = {call})",
        f"agrees(result, {wanted})",
    ]
    if parts[3] != "new" and not op.startswith("einsum"):
        out = {
            "out": "tt.empty_like(result)",
            "out of a": "a.reshape(-1)[: result.numel()].view(result.shape) if a.numel() >= result.numel() else a",
            "strided out": "result.unsqueeze(-1).repeat_interleave(2, -1)[..., 1]",
        }[parts[3]]
        lines += [f"out = {out}", f"again = {call}, out=out)"]
        lines += ["assert again is out, 'another tensor than out'", f"agrees(again, {wanted})"]
    return Program("\n".join([*lines, ""]), tuple(parts), op, patient=True)


def _sizes(chance: random.Random, letters: set[str]) -> dict[str, int]:
    """Return a size for each letter, so that the product has not too many multiplications."""
    found: dict[str, int] = {}
    left = MOST
    for letter in sorted(letters, key=lambda _: chance.random()):
        if letter == "b":
            size = chance.choice((0, 1, 2, 3, 5))
        elif chance.random() < 0.35:
            size = chance.choice((0, 1, 1, 2, 3, 5, 7))
        else:
            size = chance.choice(EDGES) + chance.choice((-1, 0, 0, 1, 2, 3))
        size = min(size, max(left, 1))
        left //= max(size, 1)
        found[letter] = size
    return found


def _tensor(name: str, shape: tuple[int, ...], dtype: str, layout: str, chance: random.Random) -> list[str]:
    """Return lines that make a tensor of numbers with a layout."""
    whole = dtype in ("int32", "int64", "uint8", "bool")
    numbers = f"draw.integers({0 if dtype in ('uint8', 'bool') else -9}, 10, {shape})" if whole else (
        f"draw.standard_normal({shape})" + (f" + 1j * draw.standard_normal({shape})" if "complex" in dtype else "")
    )  # fmt: skip
    lines = [f"{name} = tt.tensor(np.asarray({numbers})).to(tt.{dtype})"]
    count = 1
    for size in shape:
        count *= size
    if layout == "transposed" and len(shape) > 1:
        one, two = chance.sample(range(len(shape)), 2)
        lines.append(f"{name} = {name}.movedim({one}, {two}).contiguous().movedim({two}, {one})")
    elif layout == "stepped":
        step = chance.choice((2, 3))
        lines.append(
            f"{name} = {name}.unsqueeze(-1).repeat_interleave({step}, -1)[..., {chance.randrange(step)}]"
        )
    elif layout == "offset":
        lines.append(f"{name} = {name}.unsqueeze(0).repeat({[2] + [1] * len(shape)})[1]")
    elif layout == "expanded" and count:
        dim = chance.randrange(len(shape)) if shape else 0
        if shape:
            lines.append(f"{name} = {name}.narrow({dim}, 0, 1).expand({shape})")
    elif layout == "windowed" and count and shape:
        strides = tuple(chance.choice((0, 1, 1, 2)) for _ in shape)
        if sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) < count:
            lines.append(f"{name} = {name}.reshape(-1).as_strided({shape}, {strides})")
    elif layout == "unaligned" and count:
        start = chance.choice((1, 2, 4, 7))
        memory = (
            f"np.frombuffer(bytearray({start}) + bytearray({name}.numpy().tobytes()), np.uint8)[{start}:]"
        )
        lines.append(f"{name} = tt.from_numpy({memory}.view(tt.{dtype}.numpy).reshape({shape}))")
    elif layout == "reversed" and shape:
        lines.append(
            f"{name} = tt.from_numpy({name}.numpy()[::-1]) if {name}.dtype is not tt.bool else {name}"
        )
    elif layout == "read_only" and 0 < count * 16 <= 4096:
        lines.append(
            f"{name} = tt.from_numpy(np.frombuffer(mmap.mmap(-1, 4096, prot=mmap.PROT_READ), tt.{dtype}.numpy, {count})"
            f".reshape({shape}))"
        )
    return lines


def agrees(result: Any, form: str, adding: bool, beta: int, alpha: int, before: list[Any]) -> None:
    """Raise AssertionError unless a product is NumPy's in higher precision, within a bound for sums in any order.

    Parameters
    ----------
    result : Tensor
        The product.
    form : str
        What is multiplied and summed, as of `einsum`.
    adding, beta, alpha
        Whether a third array is added, and the factors of that one and of the product.
    before : list of ndarray
        The arguments, as they were before the call.
    """
    dtype, found = result.dtype, np.asarray(as_array(result))
    exact: Any = np.int64 if dtype.name not in EPS else np.complex128 if dtype.is_complex else np.float64
    a, b, c = (x.astype(exact) for x in before)
    with np.errstate(all="ignore"):
        wanted = alpha * np.einsum(form, a, b) + (beta * c if adding and beta else 0)
        assert found.shape == wanted.shape, f"another shape: {found.shape}, not {wanted.shape}"
        if dtype is tt.bool:
            assert adding or (found == (wanted != 0)).all(), "other truth values"
            return
        if dtype.name not in EPS:
            assert (found == wanted.astype(found.dtype)).all(), "other integers"
            return
        size = abs(alpha) * np.einsum(form, abs(a), abs(b)) + (abs(beta * c) if adding and beta else 0)
        rounding, summing = EPS[dtype.name], min(EPS[dtype.name], EPS["float32"])
        bound = 4 * size * summing * (np.sqrt(_terms(form, a, b)) + 8)
        if rounding > summing:  # halves, whose smallest numbers are far from zero
            bound = bound + 4 * rounding * (size if adding or dtype.is_complex else abs(wanted)) + 1e-6
        wrong = ~(abs(found.astype(exact) - wanted) <= bound)
    assert not wrong.any(), f"{wrong.sum()} of {wrong.size} elements are wrong"


def _terms(form: str, a: Any, b: Any) -> int:
    """Return how many products are summed for each element."""
    given, _, left = form.partition("->")
    one, _, two = given.partition(",")
    sizes = dict(zip(one + two, a.shape + b.shape, strict=True))
    return int(np.prod([size for letter, size in sizes.items() if letter not in left], initial=1))
