"""Explain: how a call would be resolved, before it is made, from the dispatcher's own records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from tt.core import plugins
from tt.core.dispatch.call import codes as c
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.resolve.mixed_devices import Operand, plan
from tt.core.dispatch.resolve.resolution import Resolution
from tt.core.errors import ArgumentError, DataDependentError, DispatchError, TTError, UnknownNameError
from tt.core.schema.model import MISSING
from tt.core.schema.operator_texts import result_dtype
from tt.core.schema.snapshot import public_names
from tt.core.types.device import Device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import to_dtype
from tt.core.types.keys import KEYS
from tt.core.types.promotion import SCALAR_BITS, position_at

__all__ = ["ArgumentSpec", "Explanation", "explain", "parse_spec"]

_SPEC = re.compile(
    r"(?P<device>[A-Za-z_]\w*)(:(?P<index>\d+))?(/(?P<layout>\w+))?:(?P<dtype>\w+)(?P<shape>\[[\d, ]*\]|\(\))?"
    r"(?P<layers>(\+\w+)*)"
)


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """An argument of a call that is not made: a tensor's device, layout, dtype and shape, or a Python number.

    Attributes
    ----------
    text : str
        The user's text.
    device, layout, dtype, layers : str, str, dtype, tuple
        Of a tensor.
    zero_dim : bool
        Whether the tensor has no dimensions.
    scalar : type or None
        bool, int, float or complex for a Python number.
    shape : tuple of int or None
        Of a tensor, where it was given.
    """

    text: str
    device: str = ""
    layout: str = "strided"
    dtype: Dtype | None = None
    zero_dim: bool = False
    layers: tuple[str, ...] = ()
    scalar: type | None = None
    shape: tuple[int, ...] | None = None


@dataclass(slots=True)
class Explanation:
    """The result of `explain`.

    Attributes
    ----------
    operator, form : str
        The operator that would be called.
    signature : str
        Its schema.
    arguments : list of (name, text)
        The arguments as given.
    resolution : Resolution or None
        The resolution; None if it fails.
    error : TTError or None
        The error that the call would raise.
    composed_dtype : str
        The dtype of the result in words, where the operators decide it of which this one is composed.
    """

    operator: str
    form: str
    signature: str
    arguments: list[tuple[str, str]]
    resolution: Resolution | None = None
    error: TTError | None = None
    composed_dtype: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def served(self) -> bool:
        """Whether the call would run."""
        return self.error is None

    def steps(self) -> list[dict[str, Any]]:
        """Return every candidate that was looked at, from the outermost layer in."""
        steps, resolution, level = [], self.resolution, 0
        while resolution is not None:
            for candidate in resolution.candidates:
                steps.append(
                    {
                        "level": level,
                        "kind": candidate.kind,
                        "source": candidate.source,
                        "taken": candidate.taken,
                        "reason": candidate.reason,
                    }
                )
            resolution, level = resolution.below, level + 1
        return steps

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        resolution = self.resolution
        return {
            "operator": self.operator,
            "form": self.form,
            "signature": self.signature,
            "arguments": [{"name": name, "spec": text} for name, text in self.arguments],
            "call": resolution.call if resolution else "",
            "compute": resolution.compute.name if resolution and resolution.compute else None,
            "results": [d.name if d else None for d in resolution.results]
            if resolution and not self.composed_dtype
            else [],
            "result": self.result,
            "casts": resolution.casts if resolution else "",
            "candidates": self.steps(),
            "error": {"kind": type(self.error).__name__, "message": str(self.error)} if self.error else None,
        }

    @property
    def result(self) -> str:
        """The dtypes of the results in words; empty where there are none, or no call would be made."""
        resolution = self.resolution
        if resolution is None:
            return ""
        if self.composed_dtype:
            return self.composed_dtype
        while resolution.below is not None:
            resolution = resolution.below
        return (
            ", ".join(d.name if d else "no tensor" for d in resolution.results)
            if any(resolution.results)
            else ""
        )

    def text(self) -> str:
        """Return the explanation in words."""
        lines = [self.signature]
        lines += [f"  argument {name!r}: {text}" for name, text in self.arguments]
        resolution = self.resolution
        if resolution is not None:
            lines.append(f"  keys and dtypes: {resolution.call}")
            for step in self.steps():
                mark = "->" if step["taken"] else "  "
                lines.append(
                    f"  {mark} {'  ' * step['level']}{step['kind']} {step['source']}: {step['reason']}"
                )
            inner = resolution
            while inner.below is not None:
                inner = inner.below
            if inner.casts:
                lines.append(f"  {inner.casts}")
            if self.result:
                lines.append(f"  result: {self.result}")
        lines += [f"  {note}" for note in self.notes]
        if self.error is not None:
            lines.append(f"{type(self.error).__name__}: {self.error}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the explanation as a table, which notebooks show."""
        arguments = "".join(
            f"<li><code>{escape(name)}</code>: {escape(text)}</li>" for name, text in self.arguments
        )
        lines = [f"<p><code>{escape(self.signature)}</code></p>", f"<ul>{arguments}</ul>", "<table>"]
        lines.append("<tr><th></th><th>kind</th><th>source</th><th>reason</th></tr>")
        for step in self.steps():
            cells = ("→" if step["taken"] else "", step["kind"], step["source"], step["reason"])
            row = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
            lines.append(f"<tr>{row}</tr>")
        lines.append("</table>")
        resolution = self.resolution
        notes = [resolution.casts] if resolution is not None and resolution.casts else []
        notes += [f"result: {self.result}"] if self.result else []
        lines += [f"<p>{escape(note)}</p>" for note in (*notes, *self.notes)]
        if self.error is not None:
            lines.append(f"<pre>{escape(f'{type(self.error).__name__}: {self.error}')}</pre>")
        return "\n".join(lines)


def parse_spec(text: str | complex) -> ArgumentSpec:
    """Parse a text like "cpu:float32" into an argument.

    Parameters
    ----------
    text : str or number
        `device[:index][/layout]:dtype[shape][+layer...]`, for instance "cpu:float32", "cuda:0/sparse_coo:int64[2, 3]",
        "cpu:float32()" for a zero-dimensional tensor, "cpu:float32+autograd"; or a Python number, also as text.

    Raises
    ------
    ArgumentError
        If it is neither.

    Examples
    --------
    >>> from tt.core.dispatch.resolve.explain import parse_spec
    >>> parse_spec("cpu:float32").dtype, parse_spec("2.5").scalar
    (tt.float32, <class 'float'>)
    """
    if isinstance(text, bool | int | float | complex):
        return ArgumentSpec(str(text), scalar=type(text))
    if not isinstance(text, str):
        raise ArgumentError(
            "explain",
            f"an argument is a text, for instance 'cpu:float32', or a number, not of type {type(text).__name__}",
        )
    # The narrowest first: "2" is an int, although float and complex read it, too.
    for kind in (int, float, complex):
        try:
            kind(text)
        except ValueError:
            continue
        return ArgumentSpec(text, scalar=kind)
    if text in ("True", "False"):
        return ArgumentSpec(text, scalar=bool)
    match = _SPEC.fullmatch(text)
    if match is None:
        raise ArgumentError(
            "explain",
            f"{text!r} is not an argument: write device[/layout]:dtype[shape], for instance cpu:float32, or a number",
        )
    shape = match["shape"]
    return ArgumentSpec(
        text,
        match["device"],
        match["layout"] or "strided",
        to_dtype(match["dtype"]),
        shape is not None and not re.search(r"\d", shape),
        tuple(match["layers"].split("+")[1:]),
        shape=None if shape is None else tuple(map(int, re.findall(r"\d+", shape))),
    )


def explain(name: str, specs: Sequence[str | complex], form: str = "functional") -> Explanation:
    """Explain how a call would be resolved.

    Parameters
    ----------
    name : str
        An operator: "add", "max.dim", "linalg.svd", "add_" for the in-place form.
    specs : list of str or numbers
        Its tensor (and number) arguments in order; see `parse_spec`.

    Returns
    -------
    Explanation

    Raises
    ------
    UnknownOpError, ArgumentError, UnknownNameError
        If the operator, an argument or one of its parts is unknown.

    Examples
    --------
    >>> import tt
    >>> tt.explain("add", ["cpu:float32", "cpu:int64"]).resolution.compute
    tt.float32
    """
    # A text is a sequence of texts, too, each of one letter.
    if isinstance(specs, str):
        raise ArgumentError("explain", f"specs is a list, with a text for each argument: write [{specs!r}]")
    arguments = [parse_spec(text) for text in specs]
    # All plugins, so that the candidates of those that the program has not used yet are shown, too.
    plugins().load()
    operator, form = _find(name, form, len(specs))
    for device in dict.fromkeys(argument.device for argument in arguments if argument.device):
        plugins().activate_extending(device)  # to explain why their kernels serve the call or not
    if not arguments and (missing := _missing(operator, arguments)) is not None:
        return Explanation(operator.name, form, str(operator.signature(form)), [], error=missing)
    keys, bits, named, operands = _keys_and_bits(operator, form, arguments)
    explanation = Explanation(operator.name, form, str(operator.signature(form)), named)
    if operator.definition.kind == "composite" and not operator.definition.promote and form == "functional":
        explanation.composed_dtype = result_dtype(operator.definition)
    try:
        # No arguments: a backend whose device is absent can be explained all the same.
        explanation.resolution = operator.overload(form).cached_call_of(keys, bits, ()).resolution
        if len(KEYS.names("device", keys)) > 1:
            home = plan(operator, form, operands)
            explanation.notes.append(f"runs on {home}; the operands that are elsewhere are moved there")
        explanation.error = _missing(operator, arguments) or _refused(operator, form, arguments)
    except DispatchError as error:
        explanation.error = error
    except TTError as error:
        # A name that does not exist is a mistake in the question and no answer to it.
        if isinstance(error, UnknownNameError):
            raise
        explanation.error = error
    return explanation


def _slots(operator: Operator) -> list[tuple[int, int, int]]:
    """Return the arguments that specs describe: tensors, and numbers that promote with them."""
    kinds = (c.GROUP_TENSOR, c.GROUP_LIST, c.OTHER_TENSOR, c.OTHER_LIST, c.SCALAR_IN_GROUP)
    return [slot for slot in operator.steps if slot[1] in kinds]


def _missing(operator: Operator, arguments: list[ArgumentSpec]) -> TTError | None:
    """Return the error of a call that lacks a required tensor; specs cannot express other required arguments."""
    for position, _, _ in _slots(operator)[len(arguments) :]:
        argument = operator.arguments[position]
        if argument.default is MISSING and not argument.type.optional:
            return ArgumentError(
                operator.name,
                f"missing required argument {argument.name!r}",
                signatures=[str(operator.definition.signature)],
            )
    return None


def _refused(operator: Operator, form: str, arguments: list[ArgumentSpec]) -> TTError | None:
    """Return the error of a call whose shapes do not fit, if all are given: the call is made without data."""
    slots = _slots(operator)
    if form == "out" or any(
        a.scalar is None and (a.shape is None or a.layout != "strided") for a in arguments
    ):
        return None
    values: dict[int, Any] = {}
    for index, spec in enumerate(arguments):
        # Specs beyond the last slot are further items of its list.
        position, how, _ = slots[min(index, len(slots) - 1)]
        value = _value(spec)
        if how in (c.GROUP_LIST, c.OTHER_LIST):
            values.setdefault(position, []).append(value)
        else:
            values[position] = value
    args = []
    for position, argument in enumerate(operator.arguments):
        value = values.get(position, argument.default)
        if value is MISSING:
            if not argument.type.optional:
                return None  # an argument that specs cannot give
            value = None
        args.append(value)
    # Made on meta, the call runs the shape rule and nothing else, which raises what the real call would.
    try:
        operator.overload(form).dispatch(tuple(args))
    except (DispatchError, DataDependentError):
        return None  # of tensors without data
    except TTError as error:
        return error
    return None


def _value(spec: ArgumentSpec) -> Any:
    """Return the argument that a spec describes, without data."""
    if spec.scalar is bool:
        return spec.text == "True"
    if spec.scalar is not None:
        return spec.scalar(spec.text)
    return ops.empty(spec.shape or (), dtype=spec.dtype, device=Device("meta"))


def _find(name: str, form: str, count: int) -> tuple[Operator, str]:
    overloads = REGISTRY.overloads(name)
    if not overloads and name.endswith("_"):
        overloads, form = REGISTRY.overloads(name[:-1]), "inplace"
    public = public_names().get(name.removeprefix("tt."))
    if not overloads and public is not None:
        overloads = REGISTRY.overloads(public)
    if not overloads:
        return REGISTRY.operator(name), form
    operators = [REGISTRY.operator(o) for o in overloads]
    fitting = [o for o in operators if sum(p[1] <= c.OTHER_LIST for p in o.steps) == count]
    return (fitting or operators)[0], form


def _keys_and_bits(
    operator: Operator, form: str, arguments: list[ArgumentSpec]
) -> tuple[int, int, list[tuple[str, str]], list[Operand]]:
    slots = _slots(operator)
    last = slots[-1] if slots else None
    if len(arguments) > len(slots) and not (last and last[1] in (c.GROUP_LIST, c.OTHER_LIST)):
        what = "tensor or number" if len(slots) == 1 else "tensors or numbers"
        raise ArgumentError(
            operator.name,
            f"takes {len(slots)} {what} here, not {len(arguments)}",
            signatures=[str(operator.definition.signature)],
        )
    keys, bits, named = 0, 0, []
    operands: list[Operand] = []
    for index, argument in enumerate(arguments):
        position, how, shift = slots[min(index, len(slots) - 1)] if slots else (0, c.OTHER_LIST, 0)
        named.append((operator.arguments[position].name, argument.text))
        if argument.scalar is not None:
            bits |= SCALAR_BITS[argument.scalar] if how in (c.GROUP_TENSOR, c.SCALAR_IN_GROUP) else 0
            continue
        keys |= _keys(argument)
        operands.append(Operand(named[-1][0], position, argument.device, argument.zero_dim))
        if argument.dtype is None:
            continue
        if how in (c.GROUP_TENSOR, c.GROUP_LIST):
            # Two bits a dtype, with and without dimensions; see Note [Level 2] in `promotion`.
            bits |= (2 if argument.zero_dim else 1) << (2 * argument.dtype.code)
        # Of a list outside the group the first tensor decides, so a position that is taken stays.
        elif how == c.OTHER_TENSOR or (shift and not position_at(bits, shift)):
            bits |= (argument.dtype.code + 1) << shift
        if index == 0 and form == "inplace":
            bits |= (argument.dtype.code + 1) << operator.target_shift
    if keys == 0:
        keys = operator.place(0, operator.defaults)
    return keys, bits, named, operands


def _keys(argument: ArgumentSpec) -> int:
    keys = REGISTRY.backend(argument.device, argument.layout).keys
    for layer in argument.layers:
        keys |= REGISTRY.layer(layer).bit
    return keys
