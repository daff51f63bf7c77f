"""Random nestings of transforms over random functions of operators, views and statements in place.

The same text runs with tt, with PyTorch, and with loops of plain backward passes (`tests.fuzz.loops`).  While the body
of a function is drawn it runs on meta tensors, so that most of its calls have shapes that fit.
"""

from __future__ import annotations

import math
import random
import re
from typing import Final

import tt
from tests.fuzz.comparison import installed
from tests.fuzz.drafts import Program
from tests.fuzz.sequences import LETTERS, PLACE, Sequence, overlaps

__all__ = ["program"]

SHAPES: Final = ((2, 3), (2, 3), (3, 2), (3,), (2,), (), (2, 2), (2, 1, 3), (1, 3), (1,), (3, 3), (2, 2, 2))
VIEWS: Final = (
    "{new} = {x}.view({shape})", "{new} = {x}.reshape({shape})", "{new} = {x}.transpose({d}, {d2})", "{new} = {x}.mT",
    "{new} = {x}.permute({order})", "{new} = {x}.unsqueeze({e})", "{new} = {x}.squeeze()", "{new} = {x}.squeeze({d})",
    "{new} = {x}.expand({wide})", "{new} = {x}.narrow({d}, {n}, {n})", "{new} = {x}.select({d}, {i})",
    "{new} = {x}[{i}]", "{new} = {x}[::{p}]", "{new} = {x}[..., {i}]", "{new} = {x}[..., None, {i}:]",
    "{new} = {x}.diagonal()", "{new} = {x}.unfold({d}, {p}, {p})", "{new} = {x}.chunk({p}, {d})[{i}]",
    "{new} = {x}.unbind({d})[{i}]", "{new} = {x}.flatten()", "{new} = {x}.movedim({d}, {d2})",
    "{new} = {x}.view_as({x})", "{new} = {x}.as_strided(({n}, {n}), ({n}, {n}), {n})", "{new} = {x}.detach()",
    "{new} = {x}.swapaxes({d}, {d2})", "{new} = {x}.unflatten({d}, (-1, {p}))", "{new} = {x}.data",
)  # fmt: skip
CHANGES: Final = (
    "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha={s})", "{x}.mul_({s})", "{x}.zero_()", "{x}.fill_({s})",
    "{x}.copy_({y})", "{x}.div_({y} * {y} + 1)", "{x}.clamp_({s}, {s2})", "{x}.neg_()", "{x}.sin_()", "{x}.exp_()",
    "{x}.sigmoid_()", "{x}.tanh_()", "{x}.pow_(2)", "{x}.square_()", "{x}.masked_fill_({x} > 0.3, {s})",
    "{x}.masked_fill_({y} > 0.3, {s})", "{x}.index_fill_({d}, {ix}, {s})", "{x}.index_add_({d}, {ix}, {y})",
    "{x}.index_copy_({d}, {ix1}, {y})", "{x}.scatter_({d}, {ix1}, {s})", "{x}.scatter_add_({d}, {ix2}, {y})",
    "{x}[{i}] = {s}", "{x}[{i}] = {y}", "{x}[..., {i}] = {y}", "{x}[{i}:] += {s}",
    "{x}[{i}:] *= {y}", "{x}.cumsum_({d})", "{x}.tril_({i})", "{x}.transpose_({d}, {d2})", "{x}.unsqueeze_({e})",
    "{x}.squeeze_()", "{x}.t_()", "{x}.addcmul_({y}, {y}, value=2)", "{x}.lerp_({y}, 0.3)",
    "{x}.index_put_(({ix},), {y}, accumulate=True)", "{x}.fill_({y}.sum())",
    "{x}.diagonal().mul_({s})", "{x}.select({d}, {i}).copy_({y})", "{x}.abs_()", "{x}.relu_()",
    "{x}[{ix1}] = {y}", "{x}.select({d}, {i}).mul_({y})", "{x}.detach().mul_(2)",
)  # fmt: skip
RESULTS: Final = (
    "{new} = {x} * {y}", "{new} = {x} * {y}", "{new} = {x} + {y}", "{new} = {x} - {y} * {s}",
    "{new} = {x} / ({y} * {y} + 1)", "{new} = {x}.sin()", "{new} = {x}.sin()", "{new} = {x}.tanh()",
    "{new} = ({x} * 0.3).exp()", "{new} = {x}.sigmoid()", "{new} = {x}.abs()", "{new} = {x}.relu()",
    "{new} = {x}.square()", "{new} = {x} ** 3", "{new} = {x}.sum({d})", "{new} = {x}.sum()", "{new} = {x}.mean({d})",
    "{new} = {x}.prod({d})", "{new} = {x}.cumsum({d})", "{new} = {x}.cumprod({d})", "{new} = {x}.softmax({d})",
    "{new} = {x}.logsumexp({d})", "{new} = {x}.amax({d})", "{new} = {x}.max({d})[0]",
    "{new} = {x}.sort({d})[0]", "{new} = {x}.topk(1, {d})[0]", "{new} = {x}.var({d}, correction=0)",
    "{new} = tt.linalg.vector_norm({x}, dim={d})", "{new} = {x} @ {y}", "{new} = tt.outer({x}, {y})",
    "{new} = tt.cat([{x}, {y}], {d})", "{new} = tt.stack([{x}, {y}], {d})",
    "{new} = tt.where({x} > 0.1, {x} * {y}, {y})", "{new} = tt.maximum({x}, {y})", "{new} = {x}.clamp({s}, {s2})",
    "{new} = {x}.gather({d}, {ix2})", "{new} = {x}.index_select({d}, {ix})", "{new} = {x}[{ix}]",
    "{new} = {x}.flip({d})", "{new} = {x}.roll({i}, {d})", "{new} = {x}.repeat({p}, {p})", "{new} = {x}.tril({i})",
    "{new} = {x}.masked_fill({x} > 0.2, {s})", "{new} = {x}.masked_fill({y} > 0.2, {s})",
    "{new} = tt.nn.functional.pad({x}, ({i}, {n}))", "{new} = {x}.diag_embed()",
    "{new} = {x}.scatter({d}, {ix1}, {s})", "{new} = {x}.scatter_add({d}, {ix2}, {y})",
    "{new} = {x}.index_add({d}, {ix}, {y})", "{new} = {x}.index_put(({ix},), {y}, accumulate=True)",
    "{new} = tt.nn.functional.layer_norm({x}, {x}.shape[-1:])", "{new} = tt.linalg.det({x})",
    "{new} = tt.cdist({x}, {y})", "{new} = tt.nn.functional.gelu({x})", "{new} = tt.nn.functional.softplus({x})",
    "{new} = tt.atan2({x}, {y} + 3)", "{new} = tt.nn.functional.mse_loss({x}, {y})",
    "{new} = tt.nn.functional.log_softmax({x}, {d})", "{new} = tt.logaddexp({x}, {y})",
    "{new} = tt.lerp({x}, {y}, 0.3)", "{new} = tt.addcmul({x}, {y}, {y})",
    "{new} = tt.einsum('...i,...i->...', {x}, {y})", "{new} = tt.complex({x}, {y}).abs()",
    "{new} = tt.view_as_real(tt.complex({x}, {y}) * (1 + 2j))", "{new} = tt.zeros_like({x})",
    "{new} = {x}.contiguous()", "{new} = {x}.new_zeros({x}.shape)", "{new} = {x}.detach() * {y}",
    "{new} = {x}.clone()", "{new} = {x}.clone()", "{new} = {x} * 1", "{new} = {x}.to(tt.float32).to(tt.float64)",
    "{new} = tt.tensordot({x}, {y}, 1)", "{new} = {x}.norm()", "{new} = {x}.std({d})",
    "{new} = tt.nn.functional.normalize({x}, dim={d})", "{new} = {x}.trace()",
    "{new} = tt.linalg.solve({x} @ {x}.mT + 2 * tt.eye({x}.shape[-1], dtype=tt.float64), {x})", "{new} = {x}.unique()",
    "{new} = tt.linalg.inv({x} @ {x}.mT + 2 * tt.eye({x}.shape[-1], dtype=tt.float64))", "{new} = {x}.ceil() * {y}",
    "{new} = tt.nn.functional.embedding(tt.tensor([1, 0, 1]), {x})", "{new} = {x}.kthvalue(1, {d})[0]",
    "{new} = tt.nn.functional.cross_entropy({x}, {ix1})", "{new} = {x}.take({ix})", "{new} = {x}.std()",
    "{new} = tt.nn.functional.conv1d({x}, {y})", "{new} = {x}.cummax({d})[0]", "{new} = {x}.logcumsumexp({d})",
    "with tt.no_grad(): {new} = {x} * {y}", "{new} = {x}.contiguous(memory_format=tt.contiguous_format)",
    "{new} = tt.nn.functional.smooth_l1_loss({x}, {y})", "{new} = {x}.renorm(2, {d}, 1.5)",
    "{new} = {x}.diff(dim={d})",
)  # fmt: skip
NUMBERS: Final = ("2", "-1", "0", "3", "1.5", "-0.5", "0.25")
MEMORY: Final = (
    "", "", "", ".t().contiguous().t()", "[..., None].repeat_interleave(2, -1)[..., 0]", ".flip(0).clone().flip(0)",
)  # fmt: skip
"""What gives the memory of an argument another order, or gaps."""
CHOOSING: Final = r"kthvalue|sort|topk|median|max\(|cummax"
"""Operators that choose one of equal elements, which each library does by itself."""
COPYING: Final = r"contiguous|reshape|flatten"
"""Calls that copy or not, depending on strides, which are promised for contiguous arguments only."""
LARGEST: Final = 150
"""Elements of a result, at most."""


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a nesting of transforms; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    body = Body(chance)
    for _ in range(chance.randrange(1, 7)):
        body.step()
    lines = [f"    {line}" for index, line in enumerate(body.lines) if index not in dropped]
    nest = Nest(chance, [tuple(body.names[name].shape) for name in body.arguments], body.finish())
    for _ in range(chance.choice((1, 1, 2, 2, 2, 3))):
        nest.wrap()
    wrappers = [
        line if index + len(body.lines) not in dropped else f"f{index + 1} = f{index}"
        for index, line in enumerate(nest.lines)
    ]
    names = ", ".join(body.arguments)
    ties = not any(re.search(CHOOSING, line) for line in body.lines)
    ordered = not any(re.search(COPYING, line) for line in body.lines)
    values = [argument(chance, shape, ties, ordered) for shape in nest.shapes]
    points = [f"{name.upper()} = {value}" for name, value in zip(body.arguments, values, strict=True)]
    last = f"f{len(nest.lines)}"
    given = names.upper()
    ends = [f"with step: results = [{last}({given})]"]
    if chance.random() < 0.3:
        ends = [
            *(f"{name.upper()}.requires_grad_()" for name in body.arguments),
            f"with step: result = {last}({given})",
            # A gradient that is constant has a history of zeros in PyTorch, and none here.
            f"with step: results = [result, *(tt.autograd.grad((result * result).sum(), [{given}], "
            f"allow_unused=True, materialize_grads=True) if result.requires_grad else map(tt.zeros_like, [{given}]))]",
        ]
    source = "\n".join(
        [f"def f0({names}):", *lines, f"    return {body.result}", *wrappers, *points, *ends, ""]
    )
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nF = tt.func\n"
    tail = ""
    if not installed():
        tail = (
            f"import tests.fuzz.loops\nwrong = tests.fuzz.loops.problem({source!r}, globals())\n"
            "assert not wrong, wrong\n"
        )
    parts = (*body.templates, *nest.templates)
    comparison = f"follow_transforms({source!r}, globals())"
    return Program(head + source + tail, parts, "transforms", comparison=comparison)


def argument(chance: random.Random, shape: tuple[int, ...], ties: bool, ordered: bool) -> str:
    """Return an expression for a tensor, of ordinary numbers or with zeros and ties, in some order of memory."""
    count = math.prod(shape)
    if chance.random() < 0.9 or not ties:
        numbers = [round(chance.uniform(-1.5, 1.5), 3) for _ in range(count)]
    else:
        numbers = [float(chance.choice((0, 0, 1, -1, 0.5))) for _ in range(count)]
    memory = chance.choice(MEMORY) if ordered else ""
    if (memory.startswith(".t") and len(shape) != 2) or (memory.startswith(".f") and not shape):
        memory = ""
    return f"tt.tensor({numbers}, dtype=tt.float64).reshape({shape}){memory}"


class Body(Sequence):
    """The body of a function that is being drawn; see `tests.fuzz.sequences.Sequence`."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.arguments = ["a", "b"][: chance.choice((1, 2, 2))]
        self.result = "a"
        same = chance.random() < 0.5
        for name in self.arguments:
            shape = tuple(self.names["a"].shape) if same and self.names else chance.choice(SHAPES)
            self.names[name] = tt.zeros(shape, dtype=tt.float64, device="meta")
            self.bases[name] = name
        if chance.random() < 0.6:
            self.add("{new} = {x}.clone()", "c = a.clone()", "a")

    def add(self, template: str, line: str, x: str) -> None:
        """Run a step on meta tensors, and keep it.

        Raises
        ------
        Exception
            When it is not possible.
        """
        names = {**self.names, "tt": tt}
        exec(line, names)
        new = {
            name: value for name, value in names.items() if len(name) == 1 and isinstance(value, tt.Tensor)
        }
        if any(not 0 < value.numel() <= 64 or value.dtype is not tt.float64 for value in new.values()):
            raise ValueError("empty, too large, or no longer double precision")
        for name in new:
            shared = template in VIEWS or "contiguous" in template or ".to(" in template
            self.bases.setdefault(name, self.bases[x] if shared else name)
        self.names = new
        self.lines.append(line)
        self.templates.append(template)

    def step(self) -> None:
        """Add a statement that meta tensors take."""
        for _ in range(12):
            template = self.chance.choice(self.chance.choice((VIEWS, CHANGES, CHANGES, RESULTS, RESULTS)))
            x = self.chance.choice(list(self.names)[-3:])
            if "as_strided" in template and self.bases[x] in self.arguments:
                continue  # where an example lies in memory is left open
            if template in CHANGES and (self.bases[x] in self.arguments or overlaps(self.names[x])):
                continue
            try:
                line = PLACE.sub(lambda found, x=x: self.drawn(found[1], x), template)
                if template in CHANGES and any(
                    self.bases[name] == self.bases[x] for name in re.findall(r"\b[a-z]\b", line[1:])
                ):
                    continue  # it would read memory that it writes
                if (
                    ".std(" in template
                    and self.names[x].numel() <= eval(line.partition("= ")[2], {**self.names}).numel()
                ):
                    continue  # the deviation of one number is NaN, and so is whatever is made of it
                self.add(template, line, x)
            except Exception:
                continue
            return

    def drawn(self, what: str, x: str) -> str:
        """Return what stands at a place of a template, of which x is the first tensor."""
        chance, shape = self.chance, list(self.names[x].shape)
        if what == "d2":
            return super().drawn("d", x)
        if what in ("s", "s2"):
            return chance.choice(NUMBERS)
        if what == "y" and chance.random() < 0.25:
            return chance.choice(list(self.names))
        if what == "ix1":  # no place twice
            size = shape[0] if shape else 1
            return f"tt.tensor({chance.sample(range(size), size)})"
        return super().drawn(what, x)

    def finish(self) -> tuple[int, ...]:
        """Choose the result, and return its shape."""
        last = list(self.names)[-2:]
        self.result = last[-1] if self.chance.random() < 0.7 else self.chance.choice(last)
        changed = [line[0] for line in self.lines if not re.match(r"\w = |with", line)]
        if changed and self.chance.random() < 0.6:
            self.result = changed[-1]
        if len(self.names) > 2 and self.chance.random() < 0.3:
            self.result += f" * {self.chance.choice(list(self.names))}.sum()"
        shape: tuple[int, ...] = tuple(self.names[self.result[0]].shape)
        return shape


class Nest:
    """Transforms around a function that are being drawn.

    Attributes
    ----------
    shapes, shape : list of tuple, tuple
        Of the arguments and the result of what was drawn last.
    """

    def __init__(self, chance: random.Random, shapes: list[tuple[int, ...]], shape: tuple[int, ...]) -> None:
        self.chance, self.shapes, self.shape = chance, shapes, shape
        self.lines: list[str] = []
        self.templates: list[str] = []
        self.names = ", ".join(LETTERS[: len(shapes)])

    def wrap(self) -> None:
        """Add a transform."""
        for _ in range(6):
            kind = self.chance.choice(
                ("vmap", "vmap", "vmap", "grad", "grad", "jacrev", "jacfwd", "jacfwd", "hessian", "jvp", "vjp", "value",
                 "between", "quiet")
            )  # fmt: skip
            line = getattr(self, kind)(f"f{len(self.lines)}")
            if line:
                self.lines.append(f"f{len(self.lines) + 1} = lambda {self.names}: {line}")
                self.templates.append(kind)
                return
        self.lines.append(f"f{len(self.lines) + 1} = f{len(self.lines)}")
        self.templates.append("nothing")

    def number(self, func: str) -> str:
        """Return a function whose result is a number."""
        if not self.shape and self.chance.random() < 0.7:
            return func
        end = self.chance.choice(("({}).sum()", "({} ** 2).sum()", "({}.sin()).sum()"))
        return f"lambda {self.names}: {end.format(f'{func}({self.names})')}"

    def place(self) -> tuple[int, str]:
        """Return the place and the name of an argument."""
        place = self.chance.randrange(len(self.shapes))
        return place, LETTERS[place]

    def is_small(self, *shapes: tuple[int, ...]) -> bool:
        return math.prod(math.prod(shape) for shape in shapes) <= LARGEST

    def vmap(self, func: str) -> str:
        size = self.chance.choice((2, 2, 3, 1))
        if not self.is_small(self.shape, (size,)):
            return ""
        dims: list[int | None] = []
        for shape in self.shapes:
            dims.append(
                None
                if self.chance.random() < 0.25
                else 0
                if self.chance.random() < 0.7
                else self.chance.randrange(len(shape) + 1)
            )
        if all(d is None for d in dims):
            dims[0] = 0
        out = 0 if self.chance.random() < 0.7 else self.chance.randrange(len(self.shape) + 1)
        mapped = [LETTERS[k] for k, d in enumerate(dims) if d is not None]
        new = [d for d in dims if d is not None]
        if len(mapped) < len(dims) and self.chance.random() < 0.5:  # the others are captured
            inner = f"lambda {', '.join(mapped)}: {func}({self.names})"
            line = f"F.vmap({inner}, in_dims={(*new,)}, out_dims={out})({', '.join(mapped)})"
        else:
            chunk = ", chunk_size=2" if self.chance.random() < 0.1 else ""
            line = f"F.vmap({func}, in_dims={(*dims,)}, out_dims={out}{chunk})({self.names})"
        self.shapes = [
            shape if d is None else (*shape[:d], size, *shape[d:])
            for shape, d in zip(self.shapes, dims, strict=True)
        ]
        self.shape = (*self.shape[:out], size, *self.shape[out:])
        return line

    def _one(self, transform: str, func: str) -> str:
        """Return a transform of a function with respect to one argument, the others passed or captured."""
        place, name = self.place()
        self.chosen = self.shapes[place]
        if len(self.shapes) > 1 and self.chance.random() < 0.4:
            return f"F.{transform}(lambda {name}: ({func})({self.names}))({name})"
        return f"F.{transform}({func}, argnums={place})({self.names})"

    def grad(self, func: str) -> str:
        line = self._one("grad", self.number(func))
        self.shape = self.chosen
        return line

    def value(self, func: str) -> str:
        line = self._one("grad_and_value", self.number(func))
        self.shape = self.chosen
        return f"(lambda z: z[0] * z[1])({line})"

    def jacrev(self, func: str, transform: str = "jacrev") -> str:
        if not all(self.is_small(self.shape, shape) for shape in self.shapes):
            return ""
        line = self._one(transform, func)
        self.shape = (*self.shape, *self.chosen)
        return line

    def jacfwd(self, func: str) -> str:
        return self.jacrev(func, "jacfwd")

    def hessian(self, func: str) -> str:
        if not all(self.is_small(shape, shape) for shape in self.shapes):
            return ""
        line = self._one("hessian", self.number(func))
        self.shape = (*self.chosen, *self.chosen)
        return line

    def jvp(self, func: str) -> str:
        names = LETTERS[: len(self.shapes)]
        tangents = [
            self.chance.choice(("{}.cos()", "tt.ones_like({})", "{} * 2", "{}")).format(n) for n in names
        ]
        pair = f"F.jvp({func}, ({self.names},), ({', '.join(tangents)},))"
        return f"{pair}[1]" if self.chance.random() < 0.7 else f"(lambda z: z[0] * z[1])({pair})"

    def vjp(self, func: str) -> str:
        place, _ = self.place()
        cotangent = self.chance.choice(("z[0].cos()", "tt.ones_like(z[0])", "z[0]"))
        self.shape = self.shapes[place]
        return f"(lambda z: z[1]({cotangent})[{place}])(F.vjp({func}, {self.names}))"

    def between(self, func: str) -> str:
        name = self.place()[1]
        return self.chance.choice(
            (
                f"{func}({self.names}).sin()",
                f"{func}({self.names}) * {name}.sum()",
                f"{func}({self.names}) ** 2",
            )
        )

    def quiet(self, func: str) -> str:
        return f"tt.no_grad()({func})({self.names})" if self.chance.random() < 0.3 else ""
