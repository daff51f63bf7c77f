"""What may be wrong, unusual or extreme about a call: functions that change a draft.

Each draws its numbers from a generator of its own, so that leaving one out changes none of the others.  One that
does not fit the call changes nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from tests.fuzz.drafts import Draft, Leaf, Names, number_code

__all__ = ["MUTATIONS"]

Mutation = Callable[[Draft, random.Random], None]

DTYPES: Final = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex32",
    "complex64", "complex128",
)  # fmt: skip
INTEGERS: Final = {
    "uint8": (0, 255), "int8": (-(2**7), 2**7 - 1), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}  # fmt: skip
HUGE_SIZES: Final = (2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**33 + 1, 2**62, 2**63 - 1)
NUMBERS: Final = (
    0, -1, 1, 2, 3, 7, -2, 100, 1025, -(2**31), 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 2**63,
    2**64, 10**30, -(10**30),
)  # fmt: skip
PATIENT_FROM: Final = 1024
FLOATS: Final = (
    "float('nan')", "float('inf')", "-float('inf')", "-0.0", "1e308", "5e-324", "1e-45", "3.5e38", "0.5",
)  # fmt: skip
WRONG: Final = (
    "None", "'text'", "''", "b'bytes'", "object()", "[]", "()", "{}", "[[]]", "[None]", "3", "-1", "2.5",
    "1j", "True", "10**30", "float('nan')", "tt.tensor(2)", "tt.tensor(1.5)", "tt.tensor([True, False])",
    "tt.zeros(0)", "tt.float32", "tt.device('cpu')", "slice(None)", "...", "int", "lambda x: x", "range(3)",
    "[1, 2, 3]", "(1, -1)", "[2**62, 2**62]",
)  # fmt: skip

MUTATIONS: Final[dict[str, tuple[Mutation, int]]] = {}
"""Name -> the function, and how often it is drawn."""


def mutation(weight: int = 4) -> Callable[[Mutation], Mutation]:
    """Register a mutation under the name of its function."""

    def register(function: Mutation) -> Mutation:
        MUTATIONS[function.__name__] = function, weight
        return function

    return register


def drawn(draft: Draft, chance: random.Random) -> Leaf | None:
    """Return one of the tensors."""
    found = draft.leaves()
    return chance.choice(found) if found else None


# --- where elements lie in memory ---


@mutation()
def transposed(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and len(leaf.shape) > 1:
        one, two = chance.sample(range(len(leaf.shape)), 2)
        leaf.code = f"{leaf.code}.movedim({one}, {two}).contiguous().movedim({two}, {one})"


@mutation()
def stepped(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf:
        step = chance.choice((2, 3))
        leaf.code = f"{leaf.code}.unsqueeze(-1).repeat_interleave({step}, -1)[..., {chance.randrange(step)}]"


@mutation()
def offset(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf:
        places = [2] + [1] * len(leaf.shape)
        leaf.code = f"{leaf.code}.unsqueeze(0).repeat({places})[1]"


@mutation()
def expanded(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and leaf.numel and leaf.shape:
        dim = chance.randrange(len(leaf.shape))
        leaf.code = f"{leaf.code}.narrow({dim}, 0, 1).expand({leaf.shape})"


@mutation()
def windowed(draft: Draft, chance: random.Random) -> None:
    """Rows that overlap each other, as a sliding window has them."""
    leaf = drawn(draft, chance)
    if leaf and leaf.numel and leaf.shape:
        strides = tuple(chance.choice((0, 1, 1, 2)) for _ in leaf.shape)
        reach = sum((size - 1) * stride for size, stride in zip(leaf.shape, strides, strict=True))
        if reach < leaf.numel:
            start = chance.randrange(leaf.numel - reach)
            leaf.code = f"{leaf.code}.reshape(-1).as_strided({leaf.shape}, {strides}, {start})"


@mutation(1)
def reversed_(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and leaf.shape:
        how = chance.choice(
            ("{0}.flip(0)", "tt.from_dlpack({0}.numpy()[::-1])", "tt.from_numpy({0}.numpy()[::-1])")
        )
        leaf.code = how.format(leaf.code)


@mutation()
def unaligned(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and leaf.numel:
        start = chance.choice((1, 2, 3, 4, 7))
        memory = f"np.frombuffer(bytearray({start}) + bytearray({leaf.code}.numpy().tobytes()), np.uint8)"
        leaf.code = f"tt.from_numpy({memory}[{start}:].view(tt.{leaf.dtype}.numpy).reshape({leaf.shape}))"


@mutation(2)
def read_only(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and 0 < leaf.numel <= 256:
        memory = "mmap.mmap(-1, 4096, prot=mmap.PROT_READ)"
        array = f"np.frombuffer({memory}, tt.{leaf.dtype}.numpy, {leaf.numel}).reshape({leaf.shape})"
        leaf.code = f"tt.from_numpy({array})"


@mutation(8)
def shared(draft: Draft, chance: random.Random) -> None:
    """Two arguments in the same memory: the second takes dtype and values of the first."""
    leaves = draft.leaves()
    if len(leaves) < 2:
        return
    one, two = chance.sample(leaves, 2)
    base = f"base{len(draft.prelude)}"
    how = chance.randrange(4)
    if how == 3 and one.numel and two.numel:
        start = chance.randrange(4)
        count = max(one.numel, start + two.numel)
        first = count - one.numel if chance.random() < 0.5 else 0
        draft.prelude.append(f"{base} = {one.code}.reshape(-1).repeat({-(-count // one.numel)})")
        one.code = f"{base}.as_strided({one.shape}, {contiguous(one.shape)}, {first})"
        two.code = f"{base}.as_strided({two.shape}, {contiguous(two.shape)}, {start})"
    else:
        draft.prelude.append(f"{base} = {one.code}")
        one.code = two.code = base
        if how == 1 and two.numel <= one.numel:
            two.code = f"{base}.as_strided({two.shape}, {contiguous(two.shape)}, {base}.storage_offset())"
        elif how == 2 and len(one.shape) > 1:
            two.code, two.shape = f"{base}.transpose(0, -1)", (one.shape[-1], *one.shape[1:-1], one.shape[0])
        else:
            two.shape = one.shape
    two.dtype = one.dtype


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


# --- shapes and dtypes ---


@mutation(1)
def huge(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and leaf.numel and leaf.shape:
        dim, size = chance.randrange(len(leaf.shape)), chance.choice(HUGE_SIZES)
        others = [1 if chance.random() < 0.8 else size for size in leaf.shape]
        shape = (*others[:dim], size, *others[dim + 1 :])
        first = f"{leaf.code}.reshape(-1)[:1].reshape({[1] * len(shape)})"
        leaf.code, leaf.shape = f"{first}.expand({shape})", shape
        draft.patient = True


@mutation(2)
def huge_and_empty(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf and leaf.shape:
        shape = [chance.choice((0, 1, 2, *HUGE_SIZES)) for _ in leaf.shape]
        shape[chance.randrange(len(shape))] = 0
        leaf.shape = tuple(shape)
        leaf.code = (
            f"tt.empty({[1 if size else 0 for size in shape]}, dtype=tt.{leaf.dtype}).expand({leaf.shape})"
        )
        draft.patient = True


@mutation()
def reshaped(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if not leaf:
        return
    how = chance.randrange(6)
    if how == 0:
        dim = chance.randrange(len(leaf.shape) + 1)
        leaf.code, leaf.shape = f"{leaf.code}.unsqueeze({dim})", (*leaf.shape[:dim], 1, *leaf.shape[dim:])
    elif how == 1:
        leaf.code, leaf.shape = f"{leaf.code}.reshape(-1)", (leaf.numel,)
    elif how == 2 and leaf.shape:
        leaf.code, leaf.shape = f"{leaf.code}[:0]", (0, *leaf.shape[1:])
    elif how == 3 and leaf.shape and leaf.shape[-1]:
        leaf.code, leaf.shape = f"{leaf.code}[..., :1]", (*leaf.shape[:-1], 1)
    elif how == 4 and leaf.shape and leaf.shape[0]:
        leaf.code, leaf.shape = f"{leaf.code}[0]", leaf.shape[1:]
    elif how == 5 and leaf.numel < 1000:
        count = chance.choice((2, 3, 17))
        leaf.code = f"{leaf.code}.repeat({[count] + [1] * max(len(leaf.shape) - 1, 0)})"
        leaf.shape = (leaf.shape[0] * count, *leaf.shape[1:]) if leaf.shape else (count,)


@mutation(2)
def many(draft: Draft, chance: random.Random) -> None:
    """Enough elements for what vectors, blocks and threads do."""
    leaf = drawn(draft, chance)
    if leaf and leaf.shape and 0 < leaf.numel < 1000:
        dim = chance.randrange(len(leaf.shape))
        count = chance.choice((33, 257, 1031)) if leaf.numel < 100 else 33
        leaf.code = f"{leaf.code}.repeat_interleave({count}, {dim})"
        leaf.shape = (*leaf.shape[:dim], leaf.shape[dim] * count, *leaf.shape[dim + 1 :])


@mutation()
def retyped(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf:
        leaf.dtype = chance.choice(DTYPES)
        leaf.code = f"{leaf.code}.to(tt.{leaf.dtype})"


@mutation(1)
def elsewhere(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if leaf:
        leaf.code += chance.choice((".to('meta')", ".to_sparse()", ".to_sparse_csr()"))


# --- values ---


@mutation(6)
def special(draft: Draft, chance: random.Random) -> None:
    leaf = drawn(draft, chance)
    if not leaf or not 0 < leaf.numel <= 64:
        return
    if leaf.dtype in INTEGERS:
        low, high = INTEGERS[leaf.dtype]
        choices = [
            low,
            high,
            0,
            1,
            *(n for n in (-1, 2, 3, 5, -2, low + 1, high - 1, 2**31, 2**32) if low <= n <= high),
        ]
        numbers = [str(chance.choice(choices)) for _ in range(leaf.numel)]
    elif leaf.dtype == "bool":
        numbers = [chance.choice(("True", "False"))] * leaf.numel
    else:
        values = [
            "float('nan')",
            "float('inf')",
            "-float('inf')",
            "0.0",
            "-0.0",
            "1.0",
            "-1.5",
            "1e-45",
            "3e38",
        ]
        mixed = chance.random() < 0.7
        first = chance.choice(values)
        numbers = [chance.choice(values) if mixed else first for _ in range(leaf.numel)]
    if len(set(numbers)) == 1:
        leaf.code = f"tt.full({leaf.shape}, {numbers[0]}, dtype=tt.{leaf.dtype})"
    else:
        leaf.code = f"tt.tensor([{', '.join(numbers)}]).to(tt.{leaf.dtype}).reshape({leaf.shape})"


@mutation(3)
def index_values(draft: Draft, chance: random.Random) -> None:
    """One number outside of its dimension among those that are good."""
    found = [leaf for leaf in draft.leaves() if leaf.dtype in INTEGERS and leaf.numel]
    if found:
        leaf = chance.choice(found)
        low, high = INTEGERS[leaf.dtype]
        number = chance.choice(
            [n for n in (-1, -2, 3, 4, 9, 2**31, 2**32, low, high, low + 1) if low <= n <= high]
        )
        if len(leaf.shape) == 1:
            place = f"(tt.tensor({chance.randrange(leaf.numel)}),)"
            leaf.code = f"{leaf.code}.clone().index_put_({place}, tt.tensor({number}, dtype=tt.{leaf.dtype}))"
        else:
            leaf.code = f"tt.full({leaf.shape}, {number}, dtype=tt.{leaf.dtype})"


@mutation(5)
def number(draft: Draft, chance: random.Random) -> None:
    place = draft.draw(chance, (int, float, complex))
    if place:
        drawn_number = chance.choice(NUMBERS)
        container, key = place
        if isinstance(container[key], int) or chance.random() < 0.3:
            container[key] = drawn_number
            draft.patient |= abs(drawn_number) > PATIENT_FROM
        else:
            container[key] = Names(chance.choice(FLOATS))


@mutation(5)
def sizes(draft: Draft, chance: random.Random) -> None:
    place = draft.draw(chance, (list, tuple))
    if not place:
        return
    container, key = place
    values = list(container[key])
    if any(not isinstance(value, int) for value in values):
        return
    how = chance.randrange(4)
    drawn_number = chance.choice(NUMBERS)
    if how == 0 and values:
        values.pop(chance.randrange(len(values)))
    elif how == 1:
        values.insert(chance.randrange(len(values) + 1), drawn_number)
    elif values:
        values[chance.randrange(len(values))] = drawn_number
    draft.patient |= any(abs(value) > PATIENT_FROM for value in values)
    container[key] = Names(f"[{', '.join(map(number_code, values))}]")


@mutation(3)
def wrong_type(draft: Draft, chance: random.Random) -> None:
    places = draft.places()
    if places:
        container, key = chance.choice(places)
        container[key] = Names(chance.choice(WRONG))
        draft.patient = True


@mutation(1)
def left_out(draft: Draft, chance: random.Random) -> None:
    if draft.kwargs and chance.random() < 0.5:
        draft.kwargs.pop(chance.choice(sorted(draft.kwargs)))
    elif draft.args:
        draft.args.pop(chance.randrange(len(draft.args)))


@mutation(1)
def keyword(draft: Draft, chance: random.Random) -> None:
    names = (
        "dtype",
        "dim",
        "unknown",
        "device",
        "self",
        "requires_grad",
        "generator",
        "memory_format",
        "layout",
    )
    draft.kwargs[chance.choice(names)] = Names(chance.choice(WRONG))
    draft.patient = True


# --- surroundings ---

LIMITS: Final = (0, 1, 4096, 2**16, 2**20, 2**30)


@mutation(2)
def cached(draft: Draft, chance: random.Random) -> None:
    """Another limit of the memory that is kept, and another one while the arguments are made."""
    before, after = chance.choice(LIMITS), chance.choice(LIMITS)
    draft.prelude.append(f"tt.cpu.set_cache_limit({before})")
    leaf = drawn(draft, chance)
    if leaf:
        leaf.code = f"(tt.cpu.set_cache_limit({after}), {leaf.code})[1]"


# --- targets ---


@mutation(4)
def target(draft: Draft, chance: random.Random) -> None:
    """What out= gets: an argument, another layout, dtype or shape."""
    if draft.form != "out":
        return
    first = draft.leaves()[0].name if draft.leaves() else "{0}"
    draft.out = chance.choice((
        first, f"{first}.reshape(-1)", f"{first}.as_strided({{0}}.shape, {{0}}.stride(), 0)", "{0}.to(tt.int8)",
        "{0}.to(tt.float64)", "{0}.to(tt.complex64)", "{0}.to(tt.bool)", "{0}[:0]", "tt.empty(0, dtype={0}.dtype)",
        "{0}.reshape(-1)[:1].expand(7)", "{0}.narrow(0, 0, 1).expand({0}.shape)",
        "{0}.unsqueeze(-1).repeat_interleave(2, -1)[..., 0]",
        "{0}.mT.contiguous().mT", "{0}.to('meta')", "tt.from_numpy({0}.numpy().tobytes())",
        "None", "({0}, {0})", "[{0}]",
        "tt.from_numpy(np.frombuffer({0}.numpy().tobytes(), {0}.dtype.numpy).reshape({0}.shape))",
    ))  # fmt: skip
