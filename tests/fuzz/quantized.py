"""Sequences of calls of quantized tensors: views, copies, activations, files, and what they must refuse.

A sequence is drawn on meta tensors, which keep their quantizers, so that most of its calls have shapes that fit.  Where
PyTorch takes all steps, too, integers and quantizers are compared.
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import re
from typing import Any, Final

import tt
from tests.fuzz.drafts import Program
from tests.fuzz.mutations import LIMITS

__all__ = ["program"]

DTYPES: Final = ("quint8", "qint8", "qint32")
SHAPES: Final = (
    (2, 3), (3, 2), (4,), (), (2, 3, 4), (1, 2, 4, 6), (2, 2, 3, 5), (1, 1, 2, 4, 4), (0, 3), (2, 0), (1, 3), (70,),
)  # fmt: skip
SCALES: Final = (
    "0.5", "0.1", "1.0", "0.3", "1e-6", "1e6", "1e-40", "1e38", "1e300", "0.0", "-0.5", "float('nan')",
    "float('inf')",
)  # fmt: skip
POINTS: Final = (
    "0",
    "0",
    "3",
    "10",
    "127",
    "-128",
    "255",
    "256",
    "-2**31",
    "2**31 - 1",
    "2**31",
    "2**63",
    "1.5",
)
NUMBERS: Final = (
    "0.0",
    "1.0",
    "-0.25",
    "0.15",
    "3.7",
    "-100.0",
    "1e10",
    "-1e38",
    "float('nan')",
    "float('inf')",
)
COMPARED: Final = (
    "{new} = {x}.view({shape})", "{new} = {x}.reshape({shape})", "{new} = {x}.transpose({d}, {d})",
    "{new} = {x}.permute({order})", "{new} = {x}.unsqueeze({e})", "{new} = {x}.squeeze()", "{new} = {x}.squeeze({d})",
    "{new} = {x}.expand(2, *{x}.shape)", "{new} = {x}.narrow({d}, {n}, {n})", "{new} = {x}.select({d}, {i})",
    "{new} = {x}[{i}:]", "{new} = {x}[::{p}]", "{new} = {x}[..., {i}]", "{new} = {x}.diagonal()",
    "{new} = {x}.unfold({d}, {p}, {p})", "{new} = {x}.chunk({p}, {d})[{i}]", "{new} = {x}.split({p}, {d})[{i}]",
    "{new} = {x}.unbind({d})[{i}]", "{new} = {x}.flatten()", "{new} = {x}.detach()", "{new} = {x}.contiguous()",
    "{new} = {x}.clone()", "{new} = {x}.repeat({p}, *[1 for _ in {x}.shape])", "{new} = {x}.movedim({d}, {d})",
    "{new} = {x}.contiguous(memory_format=tt.channels_last)", "{new} = {x}.unflatten({d}, (-1, {p}))",
    "{new} = {x}.to('cpu')", "{new} = tt.empty_quantized({x}.shape, {x}).copy_({x})", "{x}.copy_({y})",
    "{x}.copy_({x}.dequantize())", "{x}.fill_({s})", "{x}[{i}] = {s}", "{x}[..., {i}] = {y}",
    "{x}.masked_fill_({x} > {s}, {s})", "{x}.clamp_({s}, {s})", "{x}.relu_()",
    "{x}.index_put_(({ix},), tt.tensor(float({s})))", "{new} = {x}.relu()", "{new} = tt.nn.functional.relu6({x})",
    "{new} = tt.sigmoid({x})", "{new} = tt.tanh({x})", "{new} = {x}.clamp({s}, {s})",
    "{new} = tt.nn.functional.hardtanh({x}, -1.0, 1.0)", "{new} = tt.nn.functional.leaky_relu({x}, 0.1)",
    "{new} = tt.nn.functional.threshold({x}, 0.5, 0.0)", "{new} = tt.nn.functional.hardsigmoid({x})",
    "{new} = {x}.mean()", "{new} = {x}.mean({d})", "{new} = {x}.max()", "{new} = {x}.min()",
    "{new} = {x}.max({d})[0]", "{new} = tt.flip({x}, [{d}])", "{new} = {x}.index_select({d}, {ix})",
    "{new} = {x}[{ix}]", "{new} = tt.cat([{x}, {y}], {d})", "{new} = tt.stack([{x}, {x}])", "{new} = {x} > {y}",
    "{new} = {x} == {x}", "{new} = tt.nn.functional.pad({x}, ({i}, {n}), value={s})",
    "{new} = tt.nn.functional.avg_pool2d({x}, {p})", "{new} = tt.nn.functional.max_pool2d({x}, {p}, {n})",
    "{new} = tt.nn.functional.adaptive_avg_pool2d({x}, {p})",
    "{new} = tt.nn.functional.interpolate({x}, scale_factor={p})", "{new} = {x}.dequantize()",
    "{new} = {x}.int_repr()", "{new} = {x}.q_scale()", "{new} = {x}.q_zero_point()",
    "{new} = {x}.q_per_channel_scales()", "{new} = tt.equal({x}, {y})", "{new} = {x}.item()",
    "{new} = tt.quantize_per_tensor({x}.dequantize(), {scale}, {point}, tt.{t})",
)  # fmt: skip
ALONE: Final = (
    "{new} = {x}.as_strided(({n}, {n}), ({n}, {n}), {n})", "{new} = {x}.topk(1, {d})[0]",
    "{new} = tt.sort({x}, dim={d})[0]", "{new} = {x}.argsort({d})", "{new} = tt.nn.functional.gelu({x})",
    "{new} = {x}.std()", "{new} = {x} + {y}", "{new} = {x} * 2", "{x}.add_({y})", "{x}.zero_()", "{new} = {x} @ {y}",
    "{new} = {x}.to('meta')", "{new} = {x}.to(tt.float32)", "{new} = {x}.to(tt.{t})", "{new} = {x}.view(tt.int8)",
    "{new} = {x}.numpy()", "{new} = {x}.tolist()", "{new} = repr({x})", "{new} = {x}.requires_grad_()",
    "{new} = {x}.untyped_storage().tolist()", "{new} = {x}.storage_offset(), {x}.stride(), {x}.data_ptr()",
    "{x}.resize_({n}, {n})", "{x}.set_({y})", "{x}.transpose_({d}, {d})", "{x}.squeeze_()", "{x}.unsqueeze_({e})",
    "{x}.data = {y}", "{new} = pickle.loads(pickle.dumps({x}))", "{new} = copy.deepcopy({x})", "{new} = saved({x})",
    "{new} = tt.utils.data.default_collate([{x}, {y}])", "{new} = {x}.pin_memory()", "{new} = {x}.share_memory_()",
    "{new} = tt.vmap(lambda x: x.dequantize())({x})",
    "{new} = tt.vmap(lambda x: x + {x}.dequantize().sum())(tt.ones(2))", "{new} = tt.from_dlpack({x})",
    "{new} = {x}.to_sparse()", "{new} = tt.nn.Parameter({x}, requires_grad=False)",
    "{new} = tt.func.functionalize(lambda x: x.clone().fill_(1.0))({x})", "{new} = hash({x}), len({x}), bool({x})",
    "{new} = tt.where({x} > 0, {x}, {y})", "{new} = tt.add({x}, {y}, out={x})", "{new} = {x}.sum()",
    "{new} = {x}[{x} > 0]", "{new} = tt.relu({x}, out={y})", "{new} = tt.cat([{x}, {x}], {d}, out={y})",
    "{new} = tt.ones_like({x})", "{new} = tt.zeros_like({x})", "{new} = tt.empty_like({x})",
    "{new} = {x}.new_zeros(2)", "{new} = tt.rand_like({x})",
    "{new} = tt.quantized_max_pool2d({x}, {p}, {p}, {n}, {p})",
    "{new} = tt.quantized_max_pool1d({x}, {p}, {p}, {n}, {p})",
    "{new} = tt.quantized_batch_norm({x}, None, None, tt.ones(2), tt.ones(2), 1e-5, {scale}, {point})",
    "{new} = tt.quantize_per_channel({x}.dequantize(), tt.rand({p}), tt.zeros({p}, dtype=tt.int64), {n}, tt.{t})",
    "{new} = tt.empty_quantized([{n}, {p}], {x}).fill_(0.0)",
    "{new} = tt.nn.functional.pad({x}, ({n}, {n}), 'replicate')",
    "{new} = tt.nn.functional.interpolate({x}, size=({p}, {p}), mode='bilinear')",
    "{new} = {x}.swapaxes({d}, {d}).mT",
)  # fmt: skip
"""Steps after which nothing is compared: PyTorch crashes, computes something else, or leaves the result open."""
OPEN: Final = re.compile(r"nan|inf|1e38|tensor\(\[\]")
"""Numbers whose integer depends on the loop of PyTorch that meets them: beyond its range, or means of no elements."""
PRELUDE: Final = """\
import copy, io, pickle
import tt
from tests.fuzz.following import Steps
def saved(x):
    file = io.BytesIO()
    tt.save(x, file)
    file.seek(0)
    return tt.load(file, weights_only=True)
"""
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
PLACE: Final = re.compile(r"\{(\w+)\}")
FITTING: Final = 0.8
"""How often a step that meta tensors refuse is drawn again."""


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a sequence of calls; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    drawn = _Sequence(chance)
    for _ in range(chance.choice((1, 2, 2))):
        drawn.tensor()
    for _ in range(chance.randrange(1, 6)):
        drawn.step()
    kept = [f"with step: {line}" for index, line in enumerate(drawn.lines) if index not in dropped]
    source = "\n".join([*drawn.made, *kept, ""])
    limits = "" if chance.random() < 0.8 else str(chance.sample(LIMITS, 2))
    text = f"{PRELUDE}step = Steps({limits})\n{source}"
    comparison = (
        f"follow_quantized({source!r}, globals())" if drawn.compared and not OPEN.search(source) else ""
    )
    return Program(text, tuple(drawn.templates), "quantized", comparison=comparison)


class _Sequence:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.made: list[str] = []
        self.lines: list[str] = []
        self.templates: list[str] = []
        self.names: dict[str, Any] = {}
        self.compared = True

    def tensor(self) -> None:
        """Make a quantized tensor, or try to: what is refused at once is a program, too."""
        chance = self.chance
        name, shape, dtype = LETTERS[len(self.names)], chance.choice(SHAPES), chance.choice(DTYPES)
        strange = chance.random() < 0.15
        numbers = [chance.choice(NUMBERS if strange else NUMBERS[:6]) for _ in range(math.prod(shape))]
        real = f"tt.tensor([{', '.join(numbers)}], dtype=tt.float32).reshape({shape})"
        scale, point = (
            chance.choice(SCALES if strange else SCALES[:4]),
            chance.choice(POINTS[: 13 if strange else 4]),
        )
        self.compared &= scale in SCALES[:6]  # others have no inverse, and integers that are left open
        axis = chance.randrange(len(shape)) if shape else 0
        if shape and chance.random() < 0.4:
            count = shape[axis]
            scales = f"tt.tensor({[float(chance.choice((0.5, 0.1, 2.0))) for _ in range(count)]}, dtype=tt.float64)"
            kind = chance.choice(("int64", "int64", "float32"))
            points = f"tt.tensor({[chance.randrange(4) for _ in range(count)]}, dtype=tt.{kind})"
            made = f"tt.quantize_per_channel({real}, {scales}, {points}, {axis}, tt.{dtype})"
        else:
            made = f"tt.quantize_per_tensor({real}, {scale}, {point}, tt.{dtype})"
        try:
            self.names[name] = eval(made, {"tt": tt}).to("meta")
        except Exception:
            self.names[name] = tt.quantize_per_tensor(tt.zeros(shape, device="meta"), 0.5, 0, tt.qint8)
            self.compared = False
        self.made.append(f"{name} = {made}")

    def step(self) -> None:
        """Add a call that meta tensors take, or another."""
        for _ in range(8):
            template = self.chance.choice(COMPARED if self.chance.random() < 0.75 else ALONE)
            x = self.chance.choice(
                [name for name, value in self.names.items() if value.layout is not tt.strided]
            )
            line = PLACE.sub(lambda found, x=x: self._drawn(found[1], x), template)
            names = {**self.names, "tt": tt, "pickle": pickle, "copy": copy, "saved": copy.copy}
            try:
                exec(line, names)
            except Exception:
                if self.chance.random() < FITTING:
                    continue
            self.names = {
                name: value
                for name, value in names.items()
                if len(name) == 1 and isinstance(value, tt.Tensor)
            }
            self.compared &= template in COMPARED
            self.lines.append(line)
            self.templates.append(template)
            return

    def _drawn(self, what: str, x: str) -> str:
        """Return the text at a place of a template, of which x is the first tensor."""
        chance, tensor = self.chance, self.names[x]
        shape = list(tensor.shape)
        dim = chance.randrange(-len(shape), len(shape)) if shape else 0
        if what == "x":
            return x
        if what == "new":
            return next(letter for letter in LETTERS if letter not in self.names)
        if what == "y":
            return chance.choice(list(self.names))
        if what == "ix":
            high = shape[dim] if shape and shape[dim] else 1
            return f"tt.tensor({[chance.randrange(high) for _ in range(chance.choice((1, 2, high)))]})"
        choices: dict[str, Any] = {
            "shape": [[-1], shape[::-1], [*shape, 1], [1, *shape], [2, -1]],
            "order": [chance.sample(range(len(shape)), len(shape))],
            "d": [dim],
            "e": [dim, len(shape)],
            "i": [0, 0, 1, -1, 2],
            "n": [0, 1, 1, 2, 3],
            "p": [1, 2, 2, 3],
            "s": [*NUMBERS, "2**31", "True"],
            "t": DTYPES,
            "scale": SCALES,
            "point": POINTS,
        }
        return str(chance.choice(choices[what]))
