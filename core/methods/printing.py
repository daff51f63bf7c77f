"""Printing: tensors as PyTorch prints them.

The digits come from `format_array`, a pure function over a NumPy array; `format_tensor` adds further
facts (device, dtype, shape, gradient) unless they are the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from tt.core.blocks import swapped
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import InplaceError, UnknownNameError, ValueRangeError
from tt.core.methods.memory.host_access import host_array, layers_of, requires_gradient, values_are_hidden
from tt.core.tensor.tensor import Tensor
from tt.core.types import dtype as dt
from tt.core.types.complex32 import decode_complex32
from tt.core.types.layout import strided
from tt.core.types.promotion import get_default_dtype

__all__ = [
    "PrintOptions",
    "format_array",
    "format_tensor",
    "get_printoptions",
    "gradient_suffixes",
    "join_suffixes",
    "printoptions",
    "set_printoptions",
]

# --- options ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """The settings for printing tensors; see `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None

    def __post_init__(self) -> None:
        for name in ("precision", "edgeitems", "linewidth"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ValueRangeError(
                    f"set_printoptions(): {name} must be an int that is not negative, got {value!r}"
                )
        threshold: Any = self.threshold
        if not isinstance(threshold, int | float) or math.isnan(threshold):
            raise ValueRangeError(f"set_printoptions(): threshold must be a number, got {threshold!r}")
        if self.sci_mode not in (None, True, False):
            raise ValueRangeError(
                f"set_printoptions(): sci_mode must be True, False or None, got {self.sci_mode!r}"
            )


_PROFILES: Final[dict[str, dict[str, Any]]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


class _Current:
    """Holds the options in force."""

    options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; options that are None keep their value, except `sci_mode`.

    Parameters
    ----------
    precision : int
        Digits after the point (4 by default).
    threshold : float
        Tensors with more elements than this are abbreviated (1000).
    edgeitems : int
        How many items at either end of a dimension an abbreviation shows (3).
    linewidth : int
        Where lines are broken (80).
    profile : str
        "default", "short" or "full": sets all of the above before they are applied.
    sci_mode : bool
        Whether floats are printed as 1.0000e+00; None lets the values decide.  Every call sets it.

    Raises
    ------
    UnknownNameError
        For another profile.
    ValueRangeError
        For a value of the wrong type, or a negative one.

    See Also
    --------
    printoptions : the same for a block of code.

    Examples
    --------
    >>> import tt
    >>> tt.set_printoptions(precision=2)
    >>> tt.tensor([1.12345])
    tensor([1.12])
    >>> tt.set_printoptions(profile="default")
    """
    _Current.options = _changed(precision, threshold, edgeitems, linewidth, profile, sci_mode)


def _changed(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> PrintOptions:
    changes: dict[str, Any] = {}
    if profile is not None:
        if profile not in _PROFILES:
            raise UnknownNameError("profile", str(profile), _PROFILES)
        changes.update(_PROFILES[profile])
    limits = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes.update({name: value for name, value in limits.items() if value is not None})
    return replace(_Current.options, **changes, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """Return the options in force, as `set_printoptions` takes them.

    Examples
    --------
    >>> from tt.core.methods.printing import get_printoptions
    >>> get_printoptions()["precision"]
    4
    """
    return asdict(_Current.options)


def printoptions(**options: Any) -> AbstractContextManager[None]:
    """Print in another way inside a `with` block; takes what `set_printoptions` takes.

    Examples
    --------
    >>> import tt
    >>> with tt.printoptions(precision=1):
    ...     print(tt.tensor([0.25, 3.0]))
    tensor([0.2, 3.0])
    """
    return swapped(_Current, "options", _changed(**options))


# --- one number ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Style:
    """The number format of one tensor, with aligned columns."""

    write: Callable[[Any], str]
    width: int = 1

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


def _write_integral_float(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def _style(values: np.ndarray[Any, Any], options: PrintOptions) -> _Style:
    """Choose the style for the (real) values that will be shown."""
    flat = values.reshape(-1)
    if flat.dtype.kind in "biu":
        return _Style(str, max(map(len, map(str, flat.tolist())), default=1))
    # In float64, since quotients of half precision overflow.
    doubles = flat.astype(np.float64)
    # Zeros and what is not finite do not decide the format, as in PyTorch.
    counted = doubles[np.isfinite(doubles) & (doubles != 0)]
    if not counted.size:
        return _Style(_write_integral_float)
    integral = bool((counted == np.ceil(counted)).all())
    scientific = options.sci_mode
    if scientific is None:
        size = np.abs(counted)
        # As Python floats: a quotient that overflows is inf, without a warning.
        smallest, largest = float(size.min()), float(size.max())
        # PyTorch's thresholds.
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
    precision = options.precision
    if scientific:
        write: Callable[[float], str] = lambda value: f"{value:.{precision}e}"  # noqa: E731
    elif integral:
        write = _write_integral_float
    else:
        write = lambda value: f"{value:.{precision}f}"  # noqa: E731
    return _Style(write, max(len(write(value)) for value in counted.tolist()))


@dataclass(frozen=True, slots=True)
class _ComplexStyle:
    """The styles of the real and of the imaginary parts."""

    real: _Style
    imaginary: _Style

    @property
    def width(self) -> int:
        return self.real.width + self.imaginary.width + 1

    def __call__(self, value: complex) -> str:
        # Python prints the sign of the imaginary part only if it is negative.
        imaginary = (self.imaginary(value.imag) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self.real(value.real) + sign + imaginary


# --- an array --------------------------------------------------------------------------------------------------


def _ends(array: np.ndarray[Any, Any], edge: int) -> np.ndarray[Any, Any]:
    """Return the items that an abbreviation shows, or more where `edge` is 0 (then none is shown)."""
    for axis, size in enumerate(array.shape):
        # An axis that is short is shown as a whole, even in a large tensor.
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _rows(
    array: np.ndarray[Any, Any],
    style: Callable[[Any], str],
    width: int,
    indent: int,
    short: bool,
    options: PrintOptions,
) -> str:
    edge = options.edgeitems
    abbreviated = short and array.shape[0] > 2 * edge
    if array.ndim == 1:
        if abbreviated and not edge:
            items = ["..."]
        elif abbreviated:
            items = [*map(style, array[:edge].tolist()), " ...", *map(style, array[-edge:].tolist())]
        else:
            items = [*map(style, array.tolist())]
        # Two for ", " between the numbers, as PyTorch counts them.
        per_line = max(1, (options.linewidth - indent) // (width + 2))
        lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

    def part(start: int, stop: int) -> list[str]:
        return [_rows(array[i], style, width, indent + 1, short, options) for i in range(start, stop)]

    size = array.shape[0]
    blocks = [*part(0, edge), "...", *part(size - edge, size)] if abbreviated else part(0, size)
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(blocks) + "]"


def format_array(array: np.ndarray[Any, Any], indent: int = 0, options: PrintOptions | None = None) -> str:
    """Return the values of an array as PyTorch prints them.

    Parameters
    ----------
    array : numpy.ndarray
        Of any dtype that tt has, of any shape.
    indent : int
        The number of characters before it on the first line.
    options : PrintOptions
        Those in force by default.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.core.methods.printing import format_array
    >>> format_array(np.array([1.0, 2.5, np.inf], np.float32))
    '[1.0000, 2.5000,    inf]'
    """
    options = _Current.options if options is None else options
    array = decode_complex32(array)
    if not array.size:
        return "[]"
    # Above the threshold all large axes are abbreviated, whichever makes the tensor large.
    short = array.size > options.threshold
    shown = _ends(array, options.edgeitems) if short else array
    style: _Style | _ComplexStyle
    if array.dtype.kind == "c":
        style = _ComplexStyle(_style(shown.real, options), _style(shown.imag, options))
    else:
        style = _style(shown, options)
    if array.ndim == 0:
        return style(array.item())
    return _rows(array, style, style.width, indent, short, options)


# --- a tensor --------------------------------------------------------------------------------------------------


def join_suffixes(text: str, suffixes: Sequence[str], indent: int, *, new_line: bool = False) -> str:
    """Return `text` with suffixes and the closing bracket, on a new line each time the current one is full.

    Examples
    --------
    >>> from tt.core.methods.printing import join_suffixes
    >>> join_suffixes("tensor([1., 2.]", ["dtype=tt.float64"], indent=7)
    'tensor([1., 2.], dtype=tt.float64)'
    """
    parts = [text]
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if new_line or used + len(suffix) + 2 > _Current.options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
            new_line = False
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"


def format_tensor(tensor: Tensor, contents: str | None = None) -> str:
    """Return what `repr` of a tensor shows.

    Parameters
    ----------
    tensor : Tensor
        On any device, in any layout, in any layer.
    contents : str, optional
        A text to show instead of the values.

    Examples
    --------
    >>> import tt
    >>> from tt.core.methods.printing import format_tensor
    >>> print(format_tensor(tt.tensor([1, 2], dtype=tt.int8)))
    tensor([1, 2], dtype=tt.int8)
    """
    # Outermost first: the values of a tensor inside a transform are the layer's to show.
    for layer in layers_of(tensor):
        text = layer.format_tensor(tensor)
        if text is not None:
            return text
    fake = tensor.device.type != "meta" and values_are_hidden(tensor)
    prefix = "FakeTensor(" if fake else _prefix(tensor)
    indent = len(prefix)
    body, suffixes = _body(tensor, indent, contents)
    text = join_suffixes(
        prefix + body, suffixes + gradient_suffixes(tensor), indent, new_line=tensor.is_sparse
    )
    if prefix != "tensor(" and _is_parameter(tensor):
        return f"Parameter({text})"
    return text


def _prefix(tensor: Tensor) -> str:
    return "tensor(" if type(tensor) in (Tensor, _parameter()) else f"{type(tensor).__name__}("


def _is_parameter(tensor: Tensor) -> bool:
    return isinstance(tensor, _parameter())


def _parameter() -> type[Tensor]:
    # Subclasses are made when the members are known, which print.
    from tt.core.methods.parameter import Parameter

    return Parameter


def gradient_suffixes(tensor: Tensor) -> list[str]:
    """Return the autograd plugin's facts about the tensor; none without the plugin."""
    if not requires_gradient(tensor):
        return []
    try:
        node = getattr(tensor, "grad_fn", None)
    except InplaceError:  # a view whose history is undefined is printed all the same
        return ["grad_fn=<Invalid>"]
    if node is not None:
        name = getattr(node, "name", None)
        return [f"grad_fn=<{name() if callable(name) else type(node).__name__}>"]
    return ["requires_grad=True"]


def _body(tensor: Tensor, indent: int, contents: str | None) -> tuple[str, list[str]]:
    """Return the values and the suffixes that do not concern gradients."""
    default = get_default_dtype()
    # These dtypes are what the text reads back as, so that the suffix can go.
    usual = tensor.dtype in (default, default.to_complex(), dt.int64, dt.bool_)
    hidden = values_are_hidden(tensor)
    size = f"size={tuple(tensor.shape)}"
    dtype = f"dtype={tensor.dtype}"
    suffixes = [] if tensor.device.type == "cpu" else [f"device='{tensor.device}'"]
    parts = component_tensors(tensor)
    shown = None if hidden or not parts else tensor._spec.backend.shown(tensor._handle)
    if shown is not None:
        suffixes += [size, dtype, *tensor._spec.backend.summary(tensor._handle)]
        return format_array(shown, indent) if contents is None else contents, suffixes
    if parts:
        summary = [] if hidden else list(tensor._spec.backend.summary(tensor._handle))
        suffixes += [size] + summary + ([] if usual else [dtype])
        body = _format_parts(parts, indent, hidden) if contents is None else contents
    elif hidden:
        suffixes += [size] + ([] if tensor.dtype is default else [dtype])
        body = "..."
    elif tensor.numel() == 0:
        # An empty vector reads back from "[]"; other shapes need their size.
        suffixes += [size] * (tensor.ndim != 1) + [dtype] * (tensor.dtype is not default)
        body = "[]"
    else:
        suffixes += [size] * (_Current.options.edgeitems == 0) + ([] if usual else [dtype])
        body = format_array(host_array(tensor), indent) if contents is None else contents
    if tensor.layout is not strided:
        suffixes.append(f"layout={tensor.layout}")
    return body if contents is None else contents, suffixes


def _format_parts(parts: dict[str, Tensor], indent: int, hidden: bool) -> str:
    """Return the strided components of a tensor of another layout, each with its name."""
    lines = []
    for name, part in parts.items():
        head = f"{name}=tensor("
        text = "..." if hidden else format_array(host_array(part), indent + len(head))
        empty = f", size={tuple(part.shape)}" if hidden or part.numel() == 0 else ""
        lines.append(f"{head}{text}{empty})")
    return (",\n" + " " * indent).join(lines)
