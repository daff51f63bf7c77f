"""Functions, points and nestings of transforms, whose products `test_matrix` compares with plain backward passes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final

import numpy as np

import tt
from tests.plugins.autograd.calls import DIFFERENTIABLE, Call, calls, serves
from tt.autograd import Function
from tt.core.library import REGISTRY, OpDefinition
from tt.func import grad, jacfwd, jacrev, jvp, vmap
from tt.library import custom_op

__all__ = [
    "CROSSINGS", "CUSTOM", "FUNCTIONS", "OPERATORS", "REVERSE", "SPECIAL", "STATEMENTS", "Case", "crossings",
    "of_function", "of_operator", "of_statement", "wrong_at",
]  # fmt: skip

Tensor = tt.Tensor

SPECIAL: Final[Mapping[str, tuple[float, ...]]] = {
    "zeros": (0.0,),
    "ties": (0.5,),
    "equal and not": (1.0, 1.0, 0.0, -1.0),
    "infinite": (float("inf"), 0.5, float("-inf"), 0.25, 0.0),
}
"""Points where functions have kinks, poles and removable singularities: the values that fill each argument in turn."""

# --- the functions ---------------------------------------------------------------------------------------------

_AUTOGRAD: Final = REGISTRY.layer("autograd")
OPERATORS: Final = [
    d
    for d in DIFFERENTIABLE
    if d.grad
    and _AUTOGRAD.formula(d.name) is not None
    and (serves(d, tt.float64) or serves(d, tt.complex128))
]
"""The operators that have a formula."""

LARGEST: Final = 24
"""Elements of the arguments of a sample that is taken; of operators without one as small, the smallest is, and it is
not crossed with whole Jacobians."""

STATEMENTS: Final = (
    # in place: all of a tensor, and its parts
    "a.mul_(b)", "a.add_(b, alpha=2)", "a.copy_(b * b)", "a.fill_(b[0, 1])", "a.fill_(2.0)", "a.zero_()", "a.exp_()",
    "a.clamp_(0.5, 1.5)", "a.lerp_(b, 0.25)", "a.lerp_(b, b * b)", "a.addcmul_(b, b, value=2)", "a.addcdiv_(b, b + 3)",
    "a.pow_(3)", "a.div_(b + 3)", "a.masked_fill_(b > 1, 3.0)", "a.masked_fill_(b > 1, b[0, 0] * b[1, 1])",
    "a.tril_()", "a.cumsum_(1)", "a.sigmoid_()", "a.neg_()", "a.t_()", "a.squeeze_()", "a.unsqueeze_(0)",
    "a.transpose_(0, 1)", "a[0] = b[1] ** 2", "a[:, 1] = b[:, 0] * a[:, 2].clone()", "a[0, 1] = 5.0",
    "a[..., 1:] *= b[..., 1:]",
    "a[tt.tensor([1, 0])] = b", "a[tt.tensor([1, 0])] += b", "a[b > 1] = 0.0", "a[0].mul_(b[1])", "a.t().mul_(b.t())",
    "a.view(-1)[2:].exp_()", "a.diagonal().copy_(b[0, :2] * b[1, 1:])", "a.select(1, 1).fill_(b[0, 0])",
    "a.narrow(1, 0, 2).sub_(b[:, 1:])",
    "a.index_add_(1, tt.tensor([0, 2]), b[:, :2])", "a.index_copy_(1, tt.tensor([2, 0]), b[:, 1:] ** 2)",
    "a.index_fill_(1, tt.tensor([1]), b[0, 0])", "a.index_put_((tt.tensor([0]), tt.tensor([1])), b[1, 1])",
    "a.scatter_(1, tt.tensor([[0], [2]]), b)", "a.scatter_add_(1, tt.tensor([[0, 0], [2, 1]]), b)",
    "a.masked_scatter_(tt.tensor([True, False, True]), b * b)", "a.put_(tt.tensor([5, 0]), b[0, :2])",
    "a.expand(2, 2, 3)[0].mul_(b)", "a.unsqueeze(0)[0, 1] = b[0]", "a.clamp_(b * 0.5, b + 1)", "a.relu_()",
    "a.addmm_(b[:, :2], b)", "a.as_strided((2,), (3,), 1).mul_(b[:, 0])",
    "a.mul_(b); b = a[0].clone() * b; a[1] = b[1]", "v = a[0]; a.mul_(b); a = v * a",
    "v = a.t(); v[1] = b[0, :2]; a = a * v.t()",
    "a.detach().mul_(2); a = a * b", "a = a.detach() * b", "a = a * b.data", "a.detach_().mul_(b)",
    "a = a.detach().clone() * a",
    # views
    "a = a.view(3, 2) * b.t()", "a = a.as_strided((2, 2), (1, 2), 1) * b[:, :2]",
    "a = x.as_strided((2, 2), (1, 2), 1) * b[:, :2]", "a = x.as_strided_scatter(b[0, :2] ** 2, (2,), (3,), 1) * b",
    "a = a.unfold(1, 2, 1) ** 2",
    "a = a.expand(2, 2, 3) * b", "a = a.diagonal() * b[:, 0]", "a = a.movedim(0, 1) @ b", "a = a.flip(1) * b",
    "a = a.view_as(b) * b", "a = a[None, :, ::2] * b[:, ::2]", "a = tt.view_as_complex(a[:, :2].contiguous()) ** 2",
    "a = tt.view_as_real(tt.complex(a, b) ** 2)", "a = tt.complex(a, b).abs()", "a = tt.complex(a, b).angle()",
    "a = a.view(2, 3, 1).squeeze() * b", "a = a.unflatten(1, (3, 1)) * b[0, 0]", "a = a.hsplit(3)[1] * b",
    "a = a.flatten() * b.reshape(-1)", "a = a.swapaxes(0, 1)[1:] ** 2 * b[0, 0]", "a = a.roll(1, 1) * b",
    "a = tt.where(a > 1, a * b, b)", "a = tt.cat([a, b * b], 1)[:, 1:5] ** 2", "a = tt.stack([a, b]).prod(0)",
    "a = a.chunk(2)[1] * b", "a = a.repeat(1, 2) * a.repeat_interleave(2, 1)",
)  # fmt: skip
"""Statements that change `a`, a copy of the first argument of shape (2, 3), with `b`, the second; `a` is the result.
`x` is the first argument itself."""


@dataclass(frozen=True)
class Case:
    """A function of real tensors, or of complex ones as pairs of their parts, and a point.

    Attributes
    ----------
    name : str
        The operator and its sample, or the statement.
    function : callable
        Takes the tensors of the point and returns a tensor or a tuple of tensors.
    point : tuple of Tensor
        Of dtype float64, without history.
    """

    name: str
    function: Callable[..., Any]
    point: tuple[Tensor, ...]

    @cached_property
    def other(self) -> tuple[Tensor, ...]:
        """A second example: the same values in reversed order, or the same point if the function refuses that."""
        turned = tuple(x.reshape(-1).flip(0).reshape(x.shape) for x in self.point)
        return turned if self.runs(turned) else self.point

    def runs(self, point: Sequence[Tensor]) -> bool:
        """Return whether the function takes a point, and its results have a history there."""
        try:
            self.first(point)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            return False
        return True

    def is_ordinary(self) -> bool:
        """Return whether the function takes the point and all is finite there."""
        results = self.results(*self.point)
        return bool(results) and self.runs(self.point) and all(r.isfinite().all() for r in results)

    def split(self, numbers: np.ndarray) -> tuple[Tensor, ...]:
        """Return a point from the numbers of all arguments."""
        parts = np.split(numbers, list(accumulate(x.numel() for x in self.point))[:-1])
        return tuple(
            tt.tensor(p.tolist(), dtype=tt.float64).reshape(x.shape)
            for p, x in zip(parts, self.point, strict=True)
        )

    def moved_to(self, values: Sequence[float]) -> Case:
        """Return the same function at a point whose arguments are filled with some values in turn."""
        point = tuple(
            tt.tensor(np.resize(np.array(values), tuple(x.shape)), dtype=tt.float64) for x in self.point
        )
        return Case(self.name, self.function, point)

    def results(self, *point: Tensor) -> tuple[Tensor, ...]:
        """Return the results that have gradients, complex ones as pairs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the old arguments of losses
            found = self.function(*point)
        listed = found if isinstance(found, tuple | list) else (found,)
        return tuple(
            tt.view_as_real(r.resolve_conj()) if r.is_complex() else r
            for r in listed
            if r.is_complex() or r.is_floating_point()
        )

    def number(self, *point: Tensor) -> Tensor:
        """Return one number that every element of the results counts for, and not linearly."""
        total = None
        for r in self.results(*point):
            weights = tt.linspace(0.5, 1.5, r.numel(), dtype=r.dtype).reshape(r.shape)
            part = (r * weights + r * r * 0.5).sum()
            total = part if total is None else total + part
        assert total is not None
        return total

    # --- plain backward passes ---

    def first(self, point: Sequence[Tensor]) -> list[np.ndarray]:
        """Return the gradients of `number`."""
        leaves = [x.clone().requires_grad_() for x in point]
        return [array(g) for g in tt.autograd.grad(self.number(*leaves), leaves, materialize_grads=True)]

    def second(self, point: Sequence[Tensor]) -> np.ndarray:
        """Return the matrix of second derivatives of `number`, by two backward passes."""
        known = self._known.get(id(point))
        if known is None:
            leaves = [x.clone().requires_grad_() for x in point]
            grads = tt.autograd.grad(self.number(*leaves), leaves, create_graph=True, materialize_grads=True)
            known = self._known[id(point)] = np.array(
                [row for k in range(len(grads)) for row in rows_of(grads[k : k + 1], 0, leaves)]
            )
        return known

    @cached_property
    def _known(self) -> dict[int, np.ndarray]:
        return {}

    def rows(self, point: Sequence[Tensor]) -> np.ndarray:
        """Return the Jacobian of the results, one backward pass for each element."""
        leaves = [x.clone().requires_grad_() for x in point]
        results = self.results(*leaves)
        rows = [row for k in range(len(results)) for row in rows_of(results, k, leaves)]
        return np.array(rows).reshape(len(rows), sum(x.numel() for x in leaves))

    def along(self, point: Sequence[Tensor], direction: Sequence[Tensor]) -> np.ndarray:
        """Return the product of `second`, which is symmetric, with a vector, by two backward passes."""
        leaves = [x.clone().requires_grad_() for x in point]
        grads = tt.autograd.grad(self.number(*leaves), leaves, create_graph=True, materialize_grads=True)
        pairs = [(g, d) for g, d in zip(grads, direction, strict=True) if g.requires_grad]
        if not pairs:
            return np.zeros(sum(x.numel() for x in leaves))
        given, directions = zip(*pairs, strict=True)
        return flat(tt.autograd.grad(given, leaves, directions, materialize_grads=True))


def rows_of(results: Sequence[Tensor], place: int, leaves: Sequence[Tensor]) -> list[np.ndarray]:
    """Return the gradients of each element of one of several results, side by side; the others' cotangents are zero."""
    size = results[place].numel()
    if not results[place].requires_grad:
        return [np.zeros(sum(x.numel() for x in leaves))] * size
    rows = []
    for k in range(size):
        vectors = [tt.zeros_like(r.detach()) for r in results if r.requires_grad]
        index = sum(r.requires_grad for r in results[:place])
        vectors[index] = (tt.arange(size) == k).to(results[place].dtype).reshape(results[place].shape)
        recorded = [r for r in results if r.requires_grad]
        rows.append(
            flat(tt.autograd.grad(recorded, leaves, vectors, retain_graph=True, materialize_grads=True))
        )
    return rows


def array(x: Tensor) -> np.ndarray:
    return np.array(x.detach().tolist(), dtype=np.float64).reshape(tuple(x.shape))


def flat(tensors: Sequence[Tensor]) -> np.ndarray:
    return np.concatenate([array(x).reshape(-1) for x in tensors])


def of_operator(definition: OpDefinition, most: int) -> Iterator[Case]:
    """Yield some samples of an operator: the largest of the small ones, and others from all over the list."""
    real = serves(definition, tt.float64)
    pairs = list(calls(definition, tt.float64 if real else tt.complex128))
    if not pairs and real:
        pairs = list(calls(definition, tt.complex128))
    pairs = [(name, call) for name, call in pairs if all(x.numel() for x in call.inputs)]
    sizes = [sum(x.numel() for x in call.inputs) for _, call in pairs]
    smallest = min(sizes, default=0)
    largest = max(LARGEST, smallest)
    small = [
        pair for size, pair in sorted(zip(sizes, pairs, strict=True), key=lambda p: -p[0]) if size <= largest
    ]
    if definition.name in COSTLY:
        small = small[-1:]
    step = max(len(small) / most, 1)
    for k in range(min(most, len(small))):
        name, call = small[int(k * step)]
        function, point = _real(call)
        if definition.name in SYMMETRIC:
            function = partial(_of_symmetric, function)
        yield Case(f"{definition.name}: {name}", function, point)


def _of_symmetric(function: Callable[..., Any], x: Tensor) -> Any:
    return function((x + x.mT) / 2)


COSTLY: Final = ("linalg_matrix_exp",)
"""Operators whose tangents are results for matrices twice as large, so that small samples will do."""

SYMMETRIC: Final = ("linalg_eigh", "linalg_eigvalsh")
"""Operators that read one triangle of a matrix, and have derivatives along symmetric matrices only."""


def _real(call: Call) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """Return a call as a function of real tensors, and its point."""
    is_complex = [x.is_complex() for x in call.inputs]

    def function(*parts: Tensor) -> Any:
        return call(*(tt.view_as_complex(p) if c else p for p, c in zip(parts, is_complex, strict=True)))

    point = [x.detach().resolve_conj().resolve_neg() for x in call.inputs]
    return function, tuple(
        (tt.view_as_real(x.clone()) if c else x).clone() for x, c in zip(point, is_complex, strict=True)
    )


def of_statement(source: str) -> Case:
    """Return a statement as a function."""
    code = compile(source, "<statement>", "exec")

    def function(x: Tensor, y: Tensor) -> Any:
        names: dict[str, Any] = {"tt": tt, "a": x.clone(), "b": y, "x": x}
        exec(code, names)
        return names["a"]

    x = tt.tensor([[0.55, 1.2, 2.0], [1.45, 0.75, -0.5]], dtype=tt.float64)
    y = tt.tensor([[1.75, 0.3, 1.1], [-1.5, 2.25, 0.5]], dtype=tt.float64)
    return Case(source, function, (x, y))


# --- Functions and custom operators ---


class Square(Function):
    """One result, all methods, a generated rule."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.detach() ** 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * g

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


class Exponential(Square):
    """Saves its result."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return y * g

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return y * tangent


class Products(Function):
    """Two arguments, two results, a number, a rule written by hand."""

    @staticmethod
    def forward(x: Tensor, y: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        return x * y * scale, (x + y).sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])
        ctx.scale = inputs[2]

    @staticmethod
    def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor, None]:
        x, y = ctx.saved_tensors
        slope = h * (x + y).cos()
        return g * y * ctx.scale + slope, g * x * ctx.scale + slope, None

    @staticmethod
    def jvp(ctx: Any, x_t: Tensor, y_t: Tensor, scale_t: None) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return (x_t * y + x * y_t) * ctx.scale, (x_t + y_t) * (x + y).cos()

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, y: Tensor, scale: float) -> Any:
        sides = [t if d is None else t.movedim(d, 0) for t, d in ((x, in_dims[0]), (y, in_dims[1]))]
        return Products.apply(*sides, scale), (0, 0)


class Wrong(Square):
    """Has derivatives that are not its own, so that what is differentiated instead is seen."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.floor()


class Cube(Function):
    """Without a rule for tangents."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * Square.apply(x) * g


FUNCTIONS: Final[Mapping[str, Callable[[Tensor, Tensor], Any]]] = {
    "Square": lambda x, y: Square.apply(x),
    "Square of a product": lambda x, y: Square.apply(x * y),
    "Square of a Square": lambda x, y: Square.apply(Square.apply(x)) * y,
    "Exponential": lambda x, y: Exponential.apply(x) * y,
    "Products": lambda x, y: Products.apply(x, y, 3.0),
    "Products of an argument and itself": lambda x, y: Products.apply(x, x * y, 0.5),
    "Products of one row": lambda x, y: Products.apply(x[0], y[1], 0.5),
    "Wrong": lambda x, y: Wrong.apply(x * y),
    "Cube": lambda x, y: Cube.apply(x) * y,
}
"""Functions of two tensors of shape (2, 3) that call a `Function`."""


def with_body(name: str) -> Any:
    """Return a custom operator whose body is tt's, with a gradient that is not that of the body."""

    @custom_op(f"{name}::body")
    def body(x: Tensor, y: Tensor) -> Tensor:
        return x.floor() * y

    @body.backward
    def backward(g: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return g * x.cos() * y, g * x.sin()

    return body


def with_kernel(name: str) -> Any:
    """Return a custom operator of NumPy functions."""

    @custom_op(f"{name}::kernel")
    def kernel(x: Tensor, y: Tensor) -> Tensor: ...

    kernel.kernel("cpu", lambda x, y: np.sin(x) * y)
    kernel.backward(x=lambda g, x, y: g * x.cos() * y, y=lambda g, x: g * x.sin())
    return kernel


def with_context(name: str) -> Any:
    """Return a custom operator with a context, a result that is saved, and two results."""

    @custom_op(f"{name}::context")
    def context(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x.exp(), x * y

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, output[0])

    def backward(ctx: Any, g: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        x, y, e = ctx.saved_tensors
        return g * e + h * y, h * x

    context.register_autograd(backward, setup_context=save)
    return context


def with_rule(name: str) -> Any:
    """Return a custom operator with a batching rule of its own."""
    op = with_kernel(f"{name}_rule")

    def rule(info: Any, in_dims: Any, x: Tensor, y: Tensor) -> Any:
        sides = [t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims, strict=True)]
        return op(*sides), 0

    op.register_vmap(rule)
    return op


CUSTOM: Final[Mapping[str, Callable[[str], Any]]] = {
    "body": with_body,
    "kernel": with_kernel,
    "context": with_context,
    "rule": with_rule,
}
"""What makes custom operators of two tensors, in a namespace."""


def of_function(name: str, function: Callable[[Tensor, Tensor], Any]) -> Case:
    """Return a function of two tensors of shape (2, 3) at an ordinary point."""
    return Case(name, function, of_statement("pass").point)


# --- the nestings ----------------------------------------------------------------------------------------------


def _all(point: Sequence[Tensor]) -> tuple[int, ...]:
    return tuple(range(len(point)))


def _both(case: Case) -> list[Tensor]:
    return [tt.stack(pair) for pair in zip(case.point, case.other, strict=True)]


def _blocks(found: Any, rows: Sequence[Tensor], columns: Sequence[Tensor]) -> np.ndarray:
    """Return nested tuples of Jacobians as one matrix."""
    return np.concatenate(
        [
            np.concatenate(
                [array(b).reshape(r.numel(), c.numel()) for b, c in zip(line, columns, strict=True)], 1
            )
            for line, r in zip(found, rows, strict=True)
        ]
    )


def _direction(case: Case) -> list[Tensor]:
    ends = list(accumulate((x.numel() for x in case.point), initial=1))
    return [
        # Behind another number: a tangent lies elsewhere in its memory than the value.
        tt.sin(tt.arange(end - x.numel() - 1, end, dtype=tt.float64))[1:].view(x.shape)
        for x, end in zip(case.point, ends[1:], strict=True)
    ]


def v_of_g(case: Case) -> tuple[np.ndarray, np.ndarray]:
    found = vmap(grad(case.number, _all(case.point)))(*_both(case))
    return flat(found), np.concatenate(
        [
            np.stack(pair).reshape(-1)
            for pair in zip(case.first(case.point), case.first(case.other), strict=True)
        ]
    )


def g_of_v(case: Case) -> tuple[np.ndarray, np.ndarray]:
    found = grad(lambda *xs: vmap(case.number)(*xs).sum(), _all(case.point))(*_both(case))
    return flat(found), np.concatenate(
        [
            np.stack(pair).reshape(-1)
            for pair in zip(case.first(case.point), case.first(case.other), strict=True)
        ]
    )


def v_of_r(case: Case) -> tuple[np.ndarray, np.ndarray]:
    found = vmap(jacrev(case.results, _all(case.point)))(*_both(case))
    results = case.results(*case.point)
    return (
        np.stack([_blocks([[b[k] for b in line] for line in found], results, case.point) for k in range(2)]),
        np.stack([case.rows(case.point), case.rows(case.other)]),
    )


def j_of_r(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = jacfwd(jacrev(case.number, everything), everything)(*case.point)
    return _blocks(found, case.point, case.point), case.second(case.point)


def r_of_j(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = jacrev(jacfwd(case.number, everything), everything)(*case.point)
    return _blocks(found, case.point, case.point), case.second(case.point)


def j_of_j(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = jacfwd(jacfwd(case.number, everything), everything)(*case.point)
    return _blocks(found, case.point, case.point), case.second(case.point)


def v_of_j_of_g(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = vmap(jacfwd(grad(case.number, everything), everything))(*_both(case))
    return (
        np.stack(
            [_blocks([[b[k] for b in line] for line in found], case.point, case.point) for k in range(2)]
        ),
        np.stack([case.second(case.point), case.second(case.other)]),
    )


def r_of_r(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = jacrev(jacrev(case.number, everything), everything)(*case.point)
    return _blocks(found, case.point, case.point), case.second(case.point)


def v_of_r_of_g(case: Case) -> tuple[np.ndarray, np.ndarray]:
    everything = _all(case.point)
    found = vmap(jacrev(grad(case.number, everything), everything))(*_both(case))
    return (
        np.stack(
            [_blocks([[b[k] for b in line] for line in found], case.point, case.point) for k in range(2)]
        ),
        np.stack([case.second(case.point), case.second(case.other)]),
    )


def jvp_of_g(case: Case) -> tuple[np.ndarray, np.ndarray]:
    direction = _direction(case)
    found = jvp(grad(case.number, _all(case.point)), case.point, tuple(direction))[1]
    return flat(found), case.along(case.point, direction)


CROSSINGS: Final[Mapping[str, Callable[[Case], tuple[np.ndarray, np.ndarray]]]] = {
    "V(G)": v_of_g,
    "G(V)": g_of_v,
    "V(R)": v_of_r,
    "J(R)": j_of_r,
    "R(J)": r_of_j,
    "J(J)": j_of_j,
    "R(R)": r_of_r,
    "V(J(G))": v_of_j_of_g,
    "V(R(G))": v_of_r_of_g,
    "jvp(G)": jvp_of_g,
}
"""Nestings of transforms: what they give for a case, and what plain backward passes give."""


LOOPS: Final = ("V(G)", "G(V)", "V(R)")
"""Nestings that are loops over examples, whose infinities and NaNs are those of each example, too."""

FURTHER: Final = ("R(R)", "V(R(G))")
"""Nestings for what people write: operators are tried in both modes by the others."""

WITHOUT_JACOBIANS: Final = ("V(G)", "G(V)", "jvp(G)")


REVERSE: Final = (*LOOPS, *FURTHER)
"""Nestings without forward mode."""


def crossings(case: Case) -> list[str]:
    """Return the nestings for a sample of an operator."""
    small = sum(x.numel() for x in case.point) <= LARGEST
    finite = all(x.isfinite().all() for x in case.point)
    return [
        name
        for name in CROSSINGS
        if name not in FURTHER
        and (small or name in WITHOUT_JACOBIANS)
        # The tangent zero of an infinite number times that number is NaN.
        and (finite or name != "J(J)")
    ]


def wrong_at(case: Case, crossing: str, transposed: bool = False) -> str:
    """Return what is wrong with a nesting at a point, or nothing; the right matrix may be the transposed one."""
    try:
        found, expected = CROSSINGS[crossing](case)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    expected = expected.swapaxes(-1, -2) if transposed else expected
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    if not np.isfinite(expected).all() and crossing not in LOOPS:
        # Zeros of a tangent and zeros of a cotangent meet infinite factors in different elements.
        both = np.isfinite(found) & np.isfinite(expected)
        found, expected = found[both], expected[both]
    close = np.isclose(found, expected, rtol=1e-7, atol=1e-9 * scale, equal_nan=True)
    if close.all():
        return ""
    return f"{found[~close][:4]} instead of {expected[~close][:4]}, {(~close).sum()} of {close.size}"
