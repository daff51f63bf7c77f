"""Calls of operators that differ in the numbers, sizes, strides and places in memory of their arguments alone.

One draw of an operator and a sample serves `BATCH` calls, each with arrays of its own, which tt and PyTorch take as
they are: a call takes a fraction of the time of a program of `tests.fuzz.operators`.  What does
not agree at first sight is looked at by `tests.fuzz.comparison.check`, with its rules and tolerances.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np

import tt
from tests.fuzz.comparison import ELSEWHERE, check, comparable, installed, reference
from tests.fuzz.differing import undefined
from tests.fuzz.drafts import Draft, Leaf, Program
from tests.fuzz.operators import samples_of, subjects
from tests.fuzz.verdicts import Verdict, judged
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, TTError
from tt.core.tensor.base import TensorBase
from tt.testing.checks.values import COMPARABLE
from tt.testing.compare import tolerances
from tt.testing.opcheck.call import bind
from tt.testing.references import as_array
from tt.testing.snippets import code_of

__all__ = ["prepare", "program", "quick"]

BATCH: Final = 128
"""Calls of one draw."""
SIZES: Final = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 40, 63, 64, 65, 100)
"""Of a dimension: with and without whole vectors of each instruction set, and what is left over."""
SPECIAL: Final = (
    0.0,
    -0.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    1e-310,
    1e-40,
    1e30,
    0.5,
    1.0,
    -1.0,
    2.0,
)
COTANGENTS: Final = ("tt.ones_like(r)", "r.detach().clone()")
DIRECT: Final = frozenset({
    "bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""Dtypes of which both libraries take NumPy's arrays as they are."""
NAMES: Final = {getattr(reference().torch, name): name for name in DIRECT} if installed() else {}
DAMAGING: Final = ("fft", "_fft", "istft", "stft")
"""How the names of operators begin that are left to `tests.fuzz.operators`; see `tests.fuzz.worker`."""
LARGEST: Final = 20_000
"""Elements of a drawn argument, at most."""
CRASHING: Final = ("pdist", "grid_sample")
"""How the names of operators begin whose backward in PyTorch ends the process for arguments that are left open."""
MATRICES: Final = ("linalg_", "cholesky", "qr", "svd", "geqrf", "ormqr", "orgqr", "lu_", "logdet", "slogdet", "det",
                   "inverse", "pinverse", "matrix_exp", "triangular_solve", "ldl_", "lobpcg")  # fmt: skip
"""How the names of operators begin that take matrices as wholes: their elements are scaled, not exchanged."""


@dataclass
class Batch:
    """What calls have in common.

    Attributes
    ----------
    name, definition, packet : str, OpDefinition, callable
        The operator, and what calls it.
    args, kwargs : list, dict
        Of the sample.
    arguments : dict or None
        All of them by their names; None where another overload takes them.
    arrays : dict
        The numbers of its tensors, by the identity of those.
    growing : str
        Which sizes may be changed: "last" for the last dimension of all tensors, "all" for those of one, or nothing.
    backward : str
        An expression for the gradient of each result r, or nothing.
    """

    name: str
    definition: Any
    packet: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]
    arguments: Mapping[str, Any] | None
    growing: str
    backward: str
    arrays: dict[int, Any] = field(default_factory=dict)


@dataclass
class Call:
    """One of them: arguments for tt, those for PyTorch by the identity of tt's, and the arrays of both."""

    args: list[Any]
    kwargs: dict[str, Any]
    arguments: Mapping[str, Any] | None
    tensors: list[Any]
    others: dict[int, Any]
    arrays: list[tuple[Any, Any]]


def prepare() -> None:
    """List all operators."""
    names("*")


@cache
def names(pattern: str) -> list[str]:
    """Return the operators that can be compared, and take tensors of dtypes that both libraries share with NumPy."""
    return [
        name
        for name, found in subjects(pattern).items()
        if comparable(name)
        and name.partition(".")[0] not in ELSEWHERE
        and not name.startswith(DAMAGING)
        and any(target.dtype in DIRECT for target in found)
        and (not installed() or reference().find(REGISTRY.operator(name).definition) is not None)
    ]


@lru_cache(4)
def batch(seed: int, start: int, pattern: str) -> Batch:
    """Return a draw of an operator and a sample."""
    chance = random.Random(f"{seed}/{start}")
    found = names(pattern)
    if not found:
        raise LookupError(f"no operator fits {pattern!r}")
    name = chance.choice(found)
    target = chance.choice([target for target in subjects(pattern)[name] if target.dtype in DIRECT])
    every = samples_of(target, seed % 4)
    sample = chance.choice([one for one in every if one.error is None] or every)
    operator = REGISTRY.operator(name)
    tensors = list(tensors_of([list(sample.args), list(sample.kwargs.values())]))
    growing = ""
    if tensors and all(tensor.ndim for tensor in tensors):
        if operator.definition.kind == "pointwise" and not any(map(sizes_among, sample.args)):
            growing = "last"
        elif operator.definition.kind == "reduction" and len(tensors) == 1:
            growing = "all"
    floating = any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors)
    backward = chance.choice(COTANGENTS) if floating and chance.random() < 0.3 else ""
    arguments: Mapping[str, Any] | None = None
    with suppress(ArgumentError):
        taken = bind(operator.overload(), list(sample.args), dict(sample.kwargs)).args
        arguments = dict(zip(operator.positions, taken, strict=False))
    return Batch(
        name, operator.definition, operator.overload(), list(sample.args), dict(sample.kwargs), arguments, growing,
        backward, {id(x): as_array(x) for x in tensors if x.layout is tt.strided and x.dtype.name in DIRECT},
    )  # fmt: skip


def sizes_among(value: Any) -> bool:
    """Return whether an argument is a list of numbers, which may be sizes."""
    return isinstance(value, list | tuple) and any(isinstance(item, int) for item in value)


def tensors_of(value: Any) -> Any:
    """Yield the tensors in nested lists."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_of(item)


def call_of(drawn: Batch, chance: random.Random) -> Call:
    """Return a call of a batch."""
    numbers = np.random.default_rng(chance.getrandbits(32))
    others: dict[int, Any] = {}
    last = chance.choice(SIZES) if drawn.growing == "last" and chance.random() < 0.8 else 0
    arrays: list[tuple[Any, Any]] = []
    common = max(
        (x.shape[-1] for x in tensors_of([drawn.args, list(drawn.kwargs.values())]) if x.ndim), default=0
    )
    special = chance.random() < 0.15
    made: dict[int, Any] = {}

    def varied(value: Any) -> Any:
        if isinstance(value, TensorBase):
            if id(value) not in made:
                made[id(value)] = tensor(value)
            return made[id(value)]
        if isinstance(value, list):
            return [varied(item) for item in value]
        if isinstance(value, tuple) and any(isinstance(item, TensorBase) for item in value):
            return tuple(varied(item) for item in value)
        return value

    def tensor(value: Any) -> Any:
        array = drawn.arrays.get(id(value))
        if array is None or not array.size:
            mine = value.detach().clone()
        else:
            shape = list(array.shape)
            if last and shape[-1] == common and common > 1:
                shape[-1] = last
            elif drawn.growing == "all" and chance.random() < 0.8:
                shape = [chance.choice(SIZES) for _ in shape]
            if math.prod(shape) > LARGEST:
                shape = list(array.shape)
            mine = values(drawn.name, array, shape, special, chance, numbers)
            mine, theirs = placed(mine, chance)
            arrays.append((mine, theirs))
            mine = tt.from_numpy(mine)
            if installed():
                others[id(mine)] = reference().torch.from_numpy(theirs)
        if drawn.backward and (mine.is_floating_point() or mine.is_complex()):
            mine.requires_grad_()
        return mine

    args, kwargs = [varied(value) for value in drawn.args], {k: varied(v) for k, v in drawn.kwargs.items()}
    arguments = None if drawn.arguments is None else {k: varied(v) for k, v in drawn.arguments.items()}
    return Call(args, kwargs, arguments, list(made.values()), others, arrays)


def values(
    name: str,
    array: Any,
    shape: list[int],
    special: bool,
    chance: random.Random,
    numbers: np.random.Generator,
) -> Any:
    """Return an array of some shape with numbers like those of another."""
    count = math.prod(shape)
    same = shape == list(array.shape)
    if name.startswith(MATRICES):
        return array * array.dtype.type(chance.uniform(0.5, 2)) if array.dtype.kind in "fc" else array
    how = chance.random()
    if same and (how < 0.15 or (array.dtype.kind in "iu" and how < 0.4)):
        return array
    flat = array.reshape(-1)[numbers.integers(0, array.size, count)]
    if array.dtype.kind in "fc":
        if how < 0.6:
            flat = flat * numbers.uniform(0.5, 1.0, count).astype(array.real.dtype)
        if special:
            with np.errstate(all="ignore"):
                pool = np.array(SPECIAL).astype(array.dtype)
            flat = np.where(numbers.random(count) < 0.2, pool[numbers.integers(0, len(pool), count)], flat)
    return flat.reshape(shape)


def placed(array: Any, chance: random.Random) -> tuple[Any, Any]:
    """Return equal arrays of one order in memory, with gaps or at some distance from where memory begins."""
    shape, ndim = array.shape, array.ndim
    order = list(range(ndim))
    how = chance.random()
    if ndim > 1 and how < 0.25:
        chance.shuffle(order)
    gap = 2 if 0.25 < how < 0.4 and ndim else 1
    first = chance.choice((0, 0, 1, 3))
    memory = np.zeros(first + array.size * gap, array.dtype)
    steps, step = [0] * ndim, gap
    for dim in reversed(order):
        steps[dim] = step * array.itemsize
        step *= shape[dim]
    mine = np.ndarray(shape, array.dtype, memory, first * array.itemsize, steps)
    mine[...] = array
    theirs = np.ndarray(shape, array.dtype, memory.copy(), first * array.itemsize, steps)
    return mine, theirs


def quick(seed: int, number: int, pattern: str = "*") -> Verdict | None:
    """Run a call with both libraries, and compare them; return None where its program is to be run instead."""
    if not installed():
        return None
    drawn = batch(seed, number // BATCH * BATCH, pattern)
    call = call_of(drawn, random.Random(f"{seed}/{number}/call"))
    inputs = [mine for mine in call.tensors if mine.requires_grad]
    found: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's, of a kernel, must not get out
            result = drawn.packet(*call.args, **call.kwargs)
            if inputs:
                recorded = [r for r in tensors_of(results_of(result)) if r.requires_grad]
                found = gradients(drawn, recorded, inputs) if recorded else []
    except (TTError, MemoryError) as error:
        return Verdict("refused", type(error).__name__)
    except Exception as error:
        return judged(error)
    try:
        agrees = at_first_sight(drawn, call, inputs, result, found)
    except (RuntimeError, ValueError, IndexError, TypeError, OverflowError):
        agrees = False
    if agrees:
        return Verdict("good", "agrees")
    if any(mine.tobytes() != theirs.tobytes() for mine, theirs in call.arrays):
        return Verdict("wrong", "an argument is not what it was")
    named = {"grads": found, "cotangent": drawn.backward} if found else {}
    try:
        return Verdict("good", check(drawn.name, result, *call.args, **call.kwargs, **named))
    except AssertionError as error:
        first, _, rest = str(error).partition("\n")
        return Verdict("different", first, rest)


def at_first_sight(drawn: Batch, call: Call, inputs: list[Any], result: Any, found: list[Any]) -> bool:
    """Return whether PyTorch gives the same numbers but for rounding, and neither library has changed an argument."""
    arguments = call.arguments
    if arguments is None or drawn.name in COMPARABLE:
        return False
    if drawn.name.startswith(CRASHING) and undefined(drawn.name, arguments):
        return False
    there, others = reference(), call.others
    for mine in inputs:
        if id(mine) not in others:
            return False
        others[id(mine)].requires_grad_()

    def convert(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return others[id(value)] if id(value) in others else there.to_torch(value)
        return [convert(item) for item in value] if isinstance(value, list | tuple) else there.to_torch(value)

    theirs = there.torch_call(drawn.definition, arguments, convert)
    if theirs is NotImplemented or not same(result, theirs):
        return False
    if inputs:
        wanted = [r for r in results_of(theirs) if r.requires_grad]
        if bool(found) != bool(wanted):
            return False
        given = [eval(drawn.backward, {"tt": there.torch, "r": r}) for r in wanted]
        expected = (
            there.torch.autograd.grad(wanted, [others[id(x)] for x in inputs], given, allow_unused=True)
            if wanted
            else ()
        )
        for one, other in zip(found, expected, strict=True):
            if one is None or other is None:
                if one is not other:
                    return False
            elif not same(one, other):
                return False
    return all(mine.tobytes() == theirs.tobytes() for mine, theirs in call.arrays)


def results_of(result: Any) -> list[Any]:
    """Return one result, or several, as a list."""
    return list(result) if isinstance(result, list | tuple) else [result]


def same(mine: Any, theirs: Any) -> bool:
    """Return whether results are equal but for rounding: their numbers, dtypes and shapes."""
    if isinstance(mine, list | tuple):
        return isinstance(theirs, list | tuple) and len(mine) == len(theirs) and all(map(same, mine, theirs))
    if not isinstance(mine, tt.Tensor) or NAMES.get(theirs.dtype) != mine.dtype.name:
        return False
    one = (mine.detach() if mine.requires_grad else mine).numpy()
    other = theirs.detach().resolve_conj().resolve_neg().numpy()
    if one.shape != other.shape:
        return False
    if one.tobytes() == other.tobytes():
        return True
    if one.dtype.kind not in "fc":
        return bool((one == other).all())
    rtol, atol = tolerances(mine.dtype)
    with np.errstate(all="ignore"):
        close = abs(one - other) <= atol + rtol * abs(other)
        return bool((close | (one == other) | (one != one) & (other != other)).all())


def gradients(drawn: Batch, results: list[Any], inputs: list[Any]) -> list[Any]:
    """Return the gradients of results."""
    given = [eval(drawn.backward, {"tt": tt, "r": r}) for r in results]
    return list(tt.autograd.grad(results, inputs, given, allow_unused=True))


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a call as a program of its own; `tests.fuzz.operators.program` explains the arguments."""
    drawn = batch(seed, number // BATCH * BATCH, pattern)
    parts = ("backward",) if drawn.backward else ()
    if 0 in dropped:
        drawn = replace(drawn, backward="")
    call = call_of(drawn, random.Random(f"{seed}/{number}/call"))
    leaves: dict[int, Leaf] = {}

    def taken(value: Any) -> Any:
        if isinstance(value, TensorBase):
            code = code_of(value.detach()) + (".requires_grad_()" if value.requires_grad else "")
            if ".as_strided" in code and value.requires_grad:
                code = code.replace(".requires_grad_()", ".detach().requires_grad_()")
            fresh = Leaf(f"x{len(leaves)}", code, tuple(value.shape), value.dtype.name)
            return leaves.setdefault(id(value), fresh)
        if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
            return [taken(item) for item in value]
        return value

    space, _, path = drawn.name.rpartition("::")
    draft = Draft(
        f"{space}.{path}" if space else path, drawn.name, "functional", [taken(value) for value in call.args],
        {key: taken(value) for key, value in call.kwargs.items()}, backward=drawn.backward,
    )  # fmt: skip
    return Program(draft.text(), parts, drawn.name, False, draft.comparison())
