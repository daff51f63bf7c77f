"""Sequences of calls whose results feed later calls: views, changes in place and through `out=`, and gradients.

The same text runs with tt and with PyTorch.  While a sequence is drawn it runs on meta tensors, so that most of its
calls have shapes that fit.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any, Final

import tt
from tests.fuzz.drafts import Program
from tests.fuzz.mutations import LIMITS

__all__ = ["program"]

DTYPES: Final = (
    "float32", "float32", "float64", "float64", "int64", "int32", "uint8", "int8", "bool", "complex64", "complex128",
    "complex32", "float16", "bfloat16",
)  # fmt: skip
SHAPES: Final = (
    (2, 3), (2, 3), (3, 2), (3,), (2,), (), (2, 3, 2), (2, 1, 3), (1, 3), (4, 6), (0, 3), (2, 0), (1,), (3, 3), (12,),
)  # fmt: skip
SPECIAL: Final = {
    "float": ("float('nan')", "float('inf')", "-float('inf')", "-0.0", "1e-45", "1e15"),
    "int": ("127", "-128", "255", "2**31 - 1", "-2**31", "2**63 - 1", "-2**63"),
}
# Sums of what softmax returns are 1, or nearly so, and comparing that with 1 would make a small difference large.
STEPS: Final = (
    # views
    "{new} = {x}.view({shape})", "{new} = {x}.reshape({shape})", "{new} = {x}.transpose({d}, {d})", "{new} = {x}.mT",
    "{new} = {x}.permute({order})", "{new} = {x}.unsqueeze({e})", "{new} = {x}.squeeze()", "{new} = {x}.squeeze({d})",
    "{new} = {x}.expand({wide})", "{new} = {x}.narrow({d}, {n}, {n})", "{new} = {x}.select({d}, {i})",
    "{new} = {x}[{i}:{i}]", "{new} = {x}[::{p}]", "{new} = {x}[..., {i}]", "{new} = {x}[..., None, {i}:]",
    "{new} = {x}.diagonal()", "{new} = {x}.diagonal({i}, {d}, {d})", "{new} = {x}.unfold({d}, {p}, {p})",
    "{new} = {x}.chunk({p}, {d})[{i}]", "{new} = {x}.split({p}, {d})[{i}]", "{new} = {x}.unbind({d})[{i}]",
    "{new} = {x}.flatten()", "{new} = {x}.movedim({d}, {d})", "{new} = {x}.detach()", "{new} = {x}.T",
    "{new} = {x}.tensor_split({p}, {d})[{i}]", "{new} = {x}.view_as({x})", "{new} = {x}.view(tt.{t})",
    "{new} = {x}.as_strided(({n}, {n}), ({n}, {n}), {n})", "{new} = tt.view_as_real({x})", "{new} = {x}.real",
    "{new} = {x}.imag", "{new} = {x}.contiguous()", "{new} = {x}.unflatten({d}, (-1, {p}))",
    "{new} = {x}.to(tt.{t})", "{new} = {x}.conj()", "{new} = {x}.data", "{new} = {x}.ravel()",
    "{new} = tt.broadcast_tensors({x}, {y})[0]", "{new} = {x}.view_as({x}).flatten()",
    # in place
    "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha={s})", "{x}.mul_({s})", "{x}.zero_()", "{x}.fill_({s})",
    "{x}.copy_({y})", "{x}.relu_()", "{x}.clamp_({s}, {s})", "{x}.neg_()", "{x}.abs_()",
    "{x}.masked_fill_({x} > 1, {s})",
    "{x}.index_fill_({d}, {ix}, {s})", "{x}.index_add_({d}, {ix}, {y})", "{x}.index_copy_({d}, {ix}, {y})",
    "{x}.scatter_({d}, {ix2}, {y})", "{x}.scatter_add_({d}, {ix2}, {y})", "{x}.scatter_({d}, {ix2}, {s})",
    "{x}[{i}] = {s}", "{x}[..., {i}] = {y}", "{x}[{x} > 0] = {s}", "{x}[{ix}] = {y}", "{x}[{i}:] += {s}", "{x} += {y}",
    "{x} *= {s}", "{x} -= {x}", "{x}.cumsum_({d})", "{x}.tril_({i})", "{x}.transpose_({d}, {d})", "{x}.unsqueeze_({e})",
    "{x}.squeeze_()", "{x}.addcmul_({y}, {y}, value=2)", "{x}.lerp_({y}, 0.5)", "{x}.put_({ix}, {y}, True)",
    "{x}.pow_(2)", "{x}.remainder_({s})", "{x}.floor_divide_({s})", "{x}.logical_not_()",
    "{x}.index_put_(({ix},), {y}, accumulate=True)", "{x}.t_()", "{x}.masked_scatter_({x} > 0, {z})",
    "tt.maximum({x}, {y}, out={x})", "{x}.ceil_()", "{x}.resize_({p}, {p})", "{x}.resize_({n})",
    # out=
    "tt.add({x}, {y}, out={z})", "tt.mul({x}, {y}, out={z})", "tt.sum({x}, {d}, out={z})",
    "tt.cat([{x}, {x}], {d}, out={z})",
    "tt.stack([{x}, {x}], {d}, out={z})", "tt.matmul({x}, {y}, out={z})", "tt.cumsum({x}, {d}, out={z})",
    "tt.index_select({x}, {d}, {ix}, out={z})", "tt.sort({x}, stable=True, dim={d}, out=({z}, {z}))",
    "tt.max({x}, {d}, out=({z}, {z}))",
    "tt.where({x} > 0, {x}, {y}, out={z})", "tt.gather({x}, {d}, {ix2}, out={z})", "tt.neg({x}, out={z})",
    "tt.take({x}, {ix}, out={z})", "tt.mean({x}, {d}, out={z})", "tt.amax({x}, {d}, out={z})",
    # new tensors
    "{new} = {x} + {y}", "{new} = {x} * {y}", "{new} = {x} - {s}", "{new} = {x}.sum({d})", "{new} = {x}.sum()",
    "{new} = {x}.cumsum({d})", "{new} = {x}.max({d})[0]", "{new} = tt.sort({x}, dim={d}, stable=True)[{i}]",
    "{new} = tt.cat([{x}, {y}], {d})",
    "{new} = tt.stack([{x}, {y}])", "{new} = {x} @ {y}", "{new} = {x}.index_select({d}, {ix})", "{new} = {x}[{ix}]",
    "{new} = {x}.gather({d}, {ix2})", "{new} = {x}.flip({d})", "{new} = {x}.roll({i}, {d})",
    "{new} = {x}.repeat({p}, {p})",
    "{new} = {x}.tril({i})", "{new} = {x}.clamp({s})", "{new} = tt.maximum({x}, {y})", "{new} = {x}.clone()",
    "{new} = tt.where({x} > 0, {x}, {y})", "{new} = {x}.to(tt.{t})", "{new} = {x} > {y}",
    "{new} = {x}.masked_fill({x} > 1, {s})",
    "{new} = {x}.mean({d})", "{new} = tt.zeros_like({x})", "{new} = {x}.amax({d})", "{new} = {x}[{x} > 0]",
    "{new} = {x}.scatter({d}, {ix2}, {s})", "{new} = tt.nn.functional.pad({x}, ({i}, {n}))",
    "{new} = {x}.softmax({d}) * 0.7310585",
    "{new} = {x}.diag_embed({i})", "{new} = tt.outer({x}, {y})", "{new} = {x}.nonzero()",
    "{new} = {x}.prod({d})", "{new} = {x}.argmax({d})", "{new} = {x}.var({d})", "{new} = {x}.topk(1, {d})[0]",
)  # fmt: skip
VIEWS: Final = STEPS.index("{x}.add_({y})")
"""How many of them may share memory with x."""
PLACE: Final = re.compile(r"\{(\w+)\}")
FITTING: Final = 0.85
"""How often a step that meta tensors refuse is drawn again."""
CHANGED: Final = r"\{x\}(\.\w+_\(|\[.*\] \S?=|\s\S=)"
"""What changes x in place."""
PLACED: Final = r"\.(index_\w+|scatter_\w*|put_|masked_scatter_)\(|\[\{ix\}\] ="
"""Operators that write element by element at places, in an order that decides later reads of the same memory."""
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a sequence of calls; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    drawn = Sequence(chance)
    for _ in range(chance.choice((2, 3, 3))):
        drawn.tensor()
    for _ in range(chance.randrange(2, 7)):
        drawn.step()
    if chance.random() < 0.6:
        drawn.backward()
    kept = [f"with step: {line}" for index, line in enumerate(drawn.lines) if index not in dropped]
    source = "\n".join([*drawn.made, *kept, ""])
    limits = "" if chance.random() < 0.7 else str(chance.sample(LIMITS, 3))
    text = f"import tt\nfrom tests.fuzz.following import Steps\nstep = Steps({limits})\n{source}"
    parts = tuple(template for template in drawn.templates)
    comparison = f"follow({source!r}, globals())" if drawn.defined else ""
    return Program(text, parts, "sequence", comparison=comparison)


def overlaps(tensor: Any) -> bool:
    """Return whether several elements of a tensor are one in memory."""
    places = [0]
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        places = [place + step * stride for place in places for step in range(size)]
    return len(set(places)) < len(places)


def part_of(dtype: Any) -> Any:
    """Return the dtype of the parts of complex numbers, one for all dtypes of integers, or the dtype itself."""
    if dtype.is_complex:
        return dtype.to_real()
    return dtype if dtype.is_floating_point else tt.int64


class Sequence:
    """A sequence that is being drawn.

    Attributes
    ----------
    made, lines : list of str
        What makes the first tensors, and the steps.
    templates : list of str
        What each step was made from.
    names : dict
        Tensors on meta that stand for those of the program.
    bases : dict of str to str
        For each of them, the one whose memory it may share.
    defined : bool
        Whether no step has an undefined result: none changes a tensor with several elements in one place, reads
        memory that it also writes, takes more of it than there is, or reads the bits of numbers.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.made: list[str] = []
        self.lines: list[str] = []
        self.templates: list[str] = []
        self.names: dict[str, Any] = {}
        self.bases: dict[str, str] = {}
        self.defined = True

    def tensor(self) -> None:
        """Make a tensor out of numbers."""
        chance, name = self.chance, LETTERS[len(self.names)]
        shape, dtype = chance.choice(SHAPES), chance.choice(DTYPES)
        count = math.prod(shape)
        numbers = [str(chance.randrange(0 if dtype in ("bool", "uint8") else -4, 6)) for _ in range(count)]
        if numbers and chance.random() < 0.15:
            kind = "float" if getattr(tt, dtype).is_floating_point else "int"
            found = getattr(tt, dtype)
            limit = 2 ** (found.itemsize * 8 - 1) if found.kind == "signed" else 0
            fitting = [text for text in SPECIAL[kind] if kind == "float" or abs(eval(text)) < limit]
            for place in range(count) if fitting else ():
                if chance.random() < 0.5:
                    numbers[place] = chance.choice(fitting)
        made = f"tt.tensor([{', '.join(numbers)}], dtype=tt.{dtype}).reshape({shape})"
        meta = tt.zeros(shape, dtype=getattr(tt, dtype), device="meta")
        if (meta.is_floating_point() or meta.is_complex()) and chance.random() < 0.5:
            # PyTorch loses a leaf that is a view of another tensor once their memory is changed.
            made += ".clone().requires_grad_()"
            meta.requires_grad_()
        self.names[name] = meta
        self.bases[name] = name
        self.made.append(f"{name} = {made}")

    def step(self) -> None:
        """Add a call that meta tensors take, or another."""
        for _ in range(8):
            template = self.chance.choice(STEPS)
            x = self.chance.choice(list(self.names))
            if "{z}" in template and not any(base != self.bases[x] for base in self.bases.values()):
                continue
            if template.endswith((".real", ".imag")) and not self.names[x].is_complex():
                continue
            if template.endswith(".conj()") and self.names[x].is_complex():
                continue  # PyTorch's is a view (docs/differences.md)
            if template.endswith(".view(tt.{t})") and self.names[x].requires_grad:
                continue  # what becomes of the gradient of numbers whose bits are counted is left open
            try:
                line = PLACE.sub(lambda found, x=x: self.drawn(found[1], x), template)
            except LookupError:
                continue
            if "out=" in line and not self.fits(line):
                continue
            names = {**self.names, "tt": tt}
            defined = self.is_defined(template, line, x)
            try:
                exec(line, names)
            except Exception:
                if self.chance.random() < FITTING and "> 0" not in line:
                    continue
            self.names = {name: value for name, value in names.items()
                          if len(name) == 1 and isinstance(value, tt.Tensor)}  # fmt: skip
            for name in self.names:
                self.bases.setdefault(name, self.bases[x] if STEPS.index(template) < VIEWS else name)
            self.defined &= defined
            self.lines.append(line)
            self.templates.append(template)
            return

    def is_defined(self, template: str, line: str, x: str) -> bool:
        """Return whether a step leaves nothing open; see the attribute `defined`."""
        if re.match(CHANGED, template) and overlaps(self.names[x]):
            return False
        if "resize_" in template:
            sizes = [int(size) for size in re.findall(r"-?\d+", line)]
            memory = self.names[x].untyped_storage().nbytes() // self.names[x].element_size()
            if self.names[x].storage_offset() + math.prod(sizes) > memory:
                return False  # what is behind it may be any number
        seen = re.search(r"\.view\(tt\.(\w+)\)", line)
        if seen and part_of(self.names[x].dtype) is not part_of(getattr(tt, seen[1])):
            return False  # the bits of NaN, and the sign of zero
        read = re.findall(r"\b[a-z]\b", line.partition("(")[2])
        return not re.search(PLACED, template) or all(self.bases.get(name) != self.bases[x] for name in read)

    def fits(self, line: str) -> bool:
        """Return whether a call writes a result of the same shape into memory that it does not read.

        PyTorch's result is undefined for memory that is read while it is written, and tensors that share memory with a
        resized one see other elements.
        """
        call, _, targets = line.rpartition(", out=")
        read, written = (
            {self.bases[name] for name in re.findall(r"\b[a-z]\b", text)} for text in (call, targets)
        )
        try:
            found = eval(f"{call})", {**self.names, "tt": tt})
            wanted = eval(targets[:-1], dict(self.names))
        except Exception:
            return False
        results, outs = (list(x) if isinstance(x, tuple) else [x] for x in (found, wanted))
        apart = len(written) == targets.count(",") + 1
        return apart and not read & written and [x.shape for x in results] == [x.shape for x in outs]

    def backward(self) -> None:
        """Differentiate a result."""
        found = [name for name, value in self.names.items() if value.requires_grad]
        if found:
            name = found[-1] if self.chance.random() < 0.7 else self.chance.choice(found)
            real = f"tt.view_as_real({name})" if self.names[name].is_complex() else name
            self.lines.append(f"({real} * {real}).sum().backward()")
            self.templates.append("backward")

    def drawn(self, what: str, x: str) -> str:
        """Return what stands at a place of a template, of which x is the first tensor."""
        chance, tensor = self.chance, self.names[x]
        shape = list(tensor.shape)
        dim = chance.randrange(-len(shape), len(shape)) if shape else 0
        if what in ("x", "new"):
            free = [letter for letter in LETTERS if letter not in self.names]
            return x if what == "x" else free[0]
        if what in ("y", "z"):
            others = self.names.items()
            if what == "z":
                # PyTorch's result for memory that is read while it is written is undefined.
                alike = [
                    name
                    for name, other in others
                    if not other.requires_grad and self.bases[name] != self.bases[x]
                ]
            else:
                alike = [name for name, other in others if other.shape == tensor.shape]
            if not alike:
                raise LookupError(f"no tensor can be {what}")
            return chance.choice(alike)
        if what == "shape":
            count = math.prod(shape)
            sizes = [n for n in (1, 2, 3, 4, 6) if count and count % n == 0] or [0]
            first = chance.choice(sizes)
            return str(
                chance.choice(
                    ([-1], [first, -1] if first else [0], [-1, first] if first else [0], shape[::-1])
                )
            )
        if what == "order":
            return str(chance.sample(range(len(shape)), len(shape)))
        if what == "wide":
            return (
                str([chance.choice((-1, size if size != 1 else 3)) for size in shape])
                if chance.random() < 0.5
                else str([2, *shape])
            )
        if what == "s":
            return chance.choice(("2", "-1", "0", "3", "1.5", "-0.5", "True", "float('nan')", "300"))
        if what == "t":
            return chance.choice(DTYPES)
        if what == "ix":
            high = shape[dim] if shape and shape[dim] else 1
            return f"tt.tensor({[chance.randrange(high) for _ in range(chance.choice((high, high, 1, 2)))]})"
        if what == "ix2":
            sizes = [min(size, 2) for size in shape]
            numbers = [chance.randrange(2) for _ in range(math.prod(sizes))]
            return f"tt.tensor({numbers}, dtype=tt.int64).reshape({sizes})"
        choices = {
            "d": [dim],
            "e": [dim, len(shape)],
            "i": [0, 0, 1, -1, 2],
            "n": [0, 1, 1, 2, 3],
            "p": [1, 2, 2, 3],
        }
        return str(chance.choice(choices[what]))
