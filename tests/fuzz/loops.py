"""Transforms of functions as loops of plain backward passes, and the comparison of a program with them and PyTorch."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import tt
from tests.fuzz.comparison import reference
from tests.fuzz.following import Steps, TorchSteps

__all__ = ["Loops", "Stacked", "follow_transforms", "problem"]

Function = Callable[..., Any]


class Loops:
    """`tt.func` without levels: every element of a result is differentiated by itself.

    Functions take and return tensors, as those of `tests.fuzz.transforms` do.

    Parameters
    ----------
    lib : module
        tt or torch.
    """

    def __init__(self, lib: Any) -> None:
        self.lib = lib

    def vmap(
        self,
        func: Function,
        in_dims: int | tuple[int | None, ...] = 0,
        out_dims: int = 0,
        chunk_size: int | None = None,
    ) -> Function:
        """Return a function that stacks the results of all examples."""

        def mapped(*args: Any) -> Any:
            dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
            size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
            results = [
                func(*(x if d is None else x.select(d, k) for x, d in zip(args, dims, strict=True)))
                for k in range(size)
            ]
            return self.lib.stack(results, out_dims)

        return mapped

    def _at(self, func: Function, args: Sequence[Any], places: Sequence[int]) -> tuple[Any, list[Any]]:
        """Return the result of a function, and the variables that it was recorded for."""
        values = list(args)
        for place in places:
            x = values[place]
            values[place] = x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
        return func(*values), [values[place] for place in places]

    def _pull(self, result: Any, variables: Sequence[Any], cotangent: Any) -> list[Any]:
        if not result.requires_grad:
            return [self.lib.zeros_like(v) for v in variables]
        return list(
            self.lib.autograd.grad(
                result, variables, cotangent, create_graph=True, allow_unused=True, materialize_grads=True
            )
        )

    def _rows(self, result: Any, variables: Sequence[Any]) -> list[list[Any]]:
        """Return the gradients of each element of a result."""
        count = result.numel()
        numbers = self.lib.arange(count)
        vectors = [(numbers == k).to(result.dtype).reshape(tuple(result.shape)) for k in range(count)]
        return [self._pull(result, variables, vector) for vector in vectors]

    def _outside(self, recorded: bool, *results: Any) -> Any:
        """Return results as seen where a transform was called: without history if none is recorded there."""
        return [r if recorded else r.detach() for r in results]

    def vjp(self, func: Function, *primals: Any) -> tuple[Any, Function]:
        """Return a value, and the function that multiplies with the transposed Jacobian."""
        recorded = self.lib.is_grad_enabled()
        with self.lib.enable_grad():
            result, variables = self._at(func, primals, range(len(primals)))

        def multiply(cotangent: Any) -> tuple[Any, ...]:
            with self.lib.enable_grad():
                return tuple(self._outside(recorded, *self._pull(result, variables, cotangent)))

        return self._outside(recorded, result)[0], multiply

    def grad_and_value(self, func: Function, argnums: int = 0) -> Function:
        """Return a function that returns a gradient and the value."""

        def gradient(*args: Any) -> Any:
            recorded = self.lib.is_grad_enabled()
            with self.lib.enable_grad():
                result, variables = self._at(func, args, [argnums])
                (found,) = self._pull(result, variables, self.lib.ones_like(result))
            return self._outside(recorded, found, result)

        return gradient

    def grad(self, func: Function, argnums: int = 0) -> Function:
        """Return a function that returns the gradient."""
        both = self.grad_and_value(func, argnums)
        return lambda *args: both(*args)[0]

    def jacrev(self, func: Function, argnums: int = 0, chunk_size: int | None = None) -> Function:
        """Return a function that returns the Jacobian."""

        def jacobian(*args: Any) -> Any:
            recorded = self.lib.is_grad_enabled()
            with self.lib.enable_grad():
                result, variables = self._at(func, args, [argnums])
                rows = [row[0] for row in self._rows(result, variables)]
                found = self.lib.stack(rows).reshape((*result.shape, *variables[0].shape))
            return self._outside(recorded, found)[0]

        return jacobian

    jacfwd = jacrev

    def hessian(self, func: Function, argnums: int = 0) -> Function:
        """Return a function that returns the second derivatives."""
        return self.jacfwd(self.jacrev(func, argnums), argnums)

    def jvp(self, func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return a value and its tangent."""
        with self.lib.enable_grad():
            result, variables = self._at(func, primals, range(len(primals)))
            products = [
                sum((g * t).sum() for g, t in zip(row, tangents, strict=True))
                for row in self._rows(result, variables)
            ]
            return result, self.lib.stack(products).reshape(tuple(result.shape))


class Stacked(Loops):
    """`vmap` as a loop, and all other transforms as the library has them."""

    def __init__(self, lib: Any) -> None:
        super().__init__(lib)
        for name in ("vjp", "grad_and_value", "grad", "jacrev", "jacfwd", "hessian", "jvp"):
            setattr(self, name, getattr(lib.func, name))


QUIET: Final = re.compile(r"\A(?=.*no_grad)(?=.*(F\.(?!vmap|grad|vjp|jacrev)|requires_grad_))", re.DOTALL)
"""Programs that loops do not follow: derivatives of what runs without gradients, where there are tangents."""
REFUSED: Final = (
    # `as_strided` reads elements of other examples (docs/differences.md).
    "lie between each other",
    # `view` of a result, whose order in memory is left open.
    "without a copy",
    # PyTorch goes by the shapes, so that a single example of an inner level may be written into what has none.
    "differs by example while self does not",
    # PyTorch forgets under no_grad() that a view is one of several.
    "is one of several views that came from one call",
)
"""What tt refuses wherever it is, by words of the message."""
EQUALS: Final = re.compile(r"kthvalue|median|mode|topk|sort|aminmax")
"""Calls that find one of several equal numbers, which is left open, and so is which one gets the gradient."""
SAVED: Final = "SavedTensorError"
COPYING: Final = re.compile(r" @ |einsum|tensordot|matmul")
"""Products, which may save a copy of an operand in an order of their own: then a change of the operand does not matter.
Which ones do so is left open."""
NESTED: Final = re.compile(r"hessian|F\.(?!vmap)[\s\S]*F\.(?!vmap)")
"""Several derivatives: a tangent of what is changed may be saved, and tt changes that of a view in place
(docs/differences.md)."""
ORDERED: Final = ".as_strided("
"""A call that reads memory in an order that strides promise; those of results are promised for contiguous arguments."""


INEXACT: Final = re.compile(
    r"layer_norm|linalg|cumprod|batch_norm|logcumsumexp|\.(transpose|swapaxes|t|unsqueeze|squeeze)_\("
)
"""Operators whose higher derivatives, or those in forward mode, are wrong in PyTorch, so that tt's own loops judge; and
changes of how a tensor is seen: there they reach other tensors in transforms, and not the gradients of views of complex
numbers (docs/more-exact.md)."""
LARGE: Final = 1e6
"""Results with larger numbers are not compared: functions of them that oscillate are rounding."""


def run(source: str, lib: Any, func: Any, step: Steps) -> dict[str, Any]:
    """Run a program on a library, with its transforms or others; return its names."""
    names: dict[str, Any] = {"tt": lib, "F": func, "step": step}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, names)
    return names


def results(names: Mapping[str, Any]) -> list[np.ndarray] | None:
    """Return the results of a program as arrays; None where it was refused."""
    if any(names["step"].refused):
        return None
    # The sum with zero: PyTorch has zeros that have no memory.
    return [
        np.array((r.detach() + 0).tolist(), dtype=np.complex128).reshape(tuple(r.shape))
        for r in names["results"]
    ]


def orders_in(source: str) -> int:
    """Return how many derivatives a program takes of each other, at most; conversions lose as much as three."""
    many = (
        len(re.findall(r"F\.(?!vmap)", source)) + source.count("F.hessian") + source.count("autograd.grad(")
    )
    return many + 3 * ("float32" in source)


def unlike(mine: Sequence[np.ndarray], other: Sequence[np.ndarray], orders: int = 0) -> str:
    """Return how results differ, or nothing; derivatives of high orders cancel, also to zero."""
    square = 0.0
    for number, (one, two) in enumerate(zip(mine, other, strict=True)):
        if one.shape != two.shape:
            return f"another shape\nresult {number}: {one.shape}, not {two.shape}"
        scale = np.abs(two[np.isfinite(two)]).max(initial=1.0)
        if scale > LARGE:
            continue
        near = (1e-8 if orders < 3 else 1e-6) * max(scale, square)
        square = square or scale * scale  # the other results are gradients of the sum of its squares
        # Where formulas of PyTorch's meet infinities, they give NaN.
        wrong = ~np.isclose(one, two, rtol=1e-6, atol=near) & ~np.isnan(two)
        if wrong.any():
            few = f"{one[wrong][:4]}, not {two[wrong][:4]} ({wrong.sum()} of {wrong.size})"
            return f"other values\nresult {number}: {few}"
    return ""


def elsewhere(source: str) -> str:
    """Return a program as PyTorch and loops run it: inside of transforms tt's `data` is `detach()`.

    See docs/differences.md.
    """
    return source.replace(".data", ".detach()") if "F." in source else source


def problem(source: str, names: Mapping[str, Any]) -> str:
    """Return how a program's results differ from those of loops, or nothing."""
    mine = results(names)
    if mine is None or QUIET.search(source):
        return ""
    loops = results(run(elsewhere(source), tt, Loops(tt), Steps()))
    return "" if loops is None else unlike(mine, loops, orders_in(source))


def follow_transforms(source: str, names: Mapping[str, Any]) -> str:
    """Raise AssertionError unless a program does the same with PyTorch, or where that fails or differs, with its loops.

    Parameters
    ----------
    source : str
        The program.
    names : mapping
        What tt's run has left.
    """
    if ORDERED in source:
        try:
            return _follow(source, names)
        except AssertionError:
            if not _depends_on_order(source):
                raise
            return "undefined"
    return _follow(source, names)


def _depends_on_order(source: str) -> bool:
    """Return whether a program agrees, and does something else, if `as_strided` gets contiguous tensors."""
    torch = reference().torch
    plain = source.replace(ORDERED, f".contiguous(){ORDERED}")
    here = [run(text, tt, tt.func, Steps()) for text in (source, plain)]
    _follow(plain, here[1])
    there = [run(elsewhere(text), torch, torch.func, TorchSteps()) for text in (source, plain)]
    pairs = [[results(names) for names in many] for many in (here, there)]
    return any(None in (one, two) or bool(unlike(one, two)) for one, two in pairs)


def _has_equals(names: Mapping[str, Any]) -> bool:
    """Return whether an argument of a program has equal numbers."""
    arrays = [names[name].detach().numpy() for name in "AB" if name in names]
    return any(np.unique(array).size < array.size for array in arrays)


def _follow(source: str, names: Mapping[str, Any]) -> str:
    torch = reference().torch
    mine = results(names)
    source = elsewhere(source)
    theirs_names = run(source, torch, torch.func, TorchSteps())
    theirs = results(theirs_names)
    orders = orders_in(source)
    if EQUALS.search(source) and mine is not None and _has_equals(names):
        return "undefined"
    if mine is not None and theirs is not None and not unlike(mine, theirs, orders):
        return "agrees"
    if QUIET.search(source):
        loops = None
    elif INEXACT.search(source):
        loops = results(run(source, tt, Loops(tt), Steps()))
    else:
        loops = results(run(source, torch, Loops(torch), TorchSteps()))
    if mine is None:
        if theirs is None:
            return "refused by both"
        refused = next(text for text in names["step"].refused if text)
        if any(words in refused for words in REFUSED) or (
            refused.startswith(SAVED) and (COPYING.search(source) or NESTED.search(source))
        ):
            return "stricter"
        if loops is None and not QUIET.search(source):
            return "refused by loops, too"
        raise AssertionError(f"refused, and PyTorch does not: {refused.partition(':')[0]}\n{refused}")
    if loops is None:
        if theirs is None or INEXACT.search(source):
            return "looser"
        stacked = results(run(source, torch, Stacked(torch), TorchSteps()))
        if stacked is not None and not unlike(mine, stacked, orders):
            return "agrees with loops"
        raise AssertionError(unlike(mine, theirs, orders))
    different = unlike(mine, loops, orders)
    if not different:
        return "looser" if theirs is None else "agrees with loops"
    if theirs is None:
        different = (
            f"accepted, with {different}\n{next(text for text in theirs_names['step'].refused if text)}"
        )
    raise AssertionError(different)
