"""Running a sequence of calls with PyTorch after tt, and what may differ."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final

import numpy as np

import tt
from tests.fuzz.comparison import differences, reference, scale_of
from tests.fuzz.verdicts import judged
from tt.core.errors import InplaceError

__all__ = ["Steps", "follow", "follow_quantized"]


class Steps:
    """A context that notes whether a step was refused, and goes on; other errors get out.

    Parameters
    ----------
    limits : sequence of int
        Limits of the memory that tt keeps, which take turns from step to step; none for the one that there is.

    Attributes
    ----------
    refused : list of str
        For each step the class of the exception, or nothing.
    """

    def __init__(self, limits: Sequence[int] = ()) -> None:
        self.limits = tuple(limits)
        self.refused: list[str] = []

    def __enter__(self) -> None:
        if self.limits:
            tt.cpu.set_cache_limit(self.limits[len(self.refused) % len(self.limits)])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.refused.append(
            "" if kind is None else f"{kind.__name__}: {str(error).partition(chr(10))[0][:200]}"
        )
        return error is not None and self.harmless(error)

    def harmless(self, error: BaseException) -> bool:
        """Return whether an exception is a refusal."""
        return isinstance(error, MemoryError | NameError) or judged(error).kind == "refused"


class TorchSteps(Steps):
    """The same for PyTorch."""

    def harmless(self, error: BaseException) -> bool:
        return isinstance(error, Exception)


STRICTER: Final = (
    "InplaceError",
    "DtypeNotServedError",
    "NumberRangeError",
    "DivisionByZeroError",
    "CastError",
)
"""Calls that tt refuses where PyTorch computes with memory being written, wraps around, or divides no elements."""
EMPTY: Final = re.compile(r"^IndexValueError: .* with size 0")
"""Indices that are out of bounds, of tensors without elements: PyTorch looks at them in some operators only."""
LOOSER: Final = (
    # Operands are read before anything is written, so they may share memory with the target.
    "unsupported operation: some elements of the input tensor", "unsupported operation: more than one element",
    # Changing how a view is seen changes no value.
    "leaf Variable that requires grad",
    # Gradients that PyTorch lacks, or computes wrongly.
    "derivative for aten::", "returned an invalid gradient", "Autograd not support dtype",
    "Tensor must have a last dimension with stride 1", "Expected isFloatingType", "must be divisible by",
    "self.stride(-1) must be 1",
    # Operators that PyTorch has on GPUs only.
    "not implemented for 'ComplexHalf'",
    # Views that came from one call, of a tensor that got a history later.
    "A view was created in",
    # Of a tensor that is multiplied with itself in place tt saves a copy.
    "one of the variables needed for gradient computation has been modified",
    # A change of how the base is seen is not a change of memory.
    "is a view and its base or another view of its base has been modified",
    # A complex view of a leaf whose memory was changed through detach(): PyTorch asks to report a bug.
    "INTERNAL ASSERT FAILED",
)  # fmt: skip
"""What PyTorch refuses and tt need not."""
BITS: Final = re.compile(r"\.view\(tt\.(?!u?int|bool)")
"""A view of bits, which in PyTorch has no part in the history of its base, also if the dtype is the same."""
PARTS: Final = re.compile(r"\.real|\.imag|view_as_real|\.view\(tt\.(float|complex)")
"""A look at the parts of complex numbers."""
ROUNDED: Final = re.compile(r"\.to\(|out=")
"""A conversion, so that numbers of more than half precision may come from numbers of half precision.  PyTorch's sums
and means take the precision of `out`."""
COPIED: Final = re.compile(r"\.(contiguous|reshape|flatten)\(")
"""Calls whose results share memory or not, depending on strides."""
GRADIENTS: Final = {
    ".topk(": "which of several equal elements is found is left open, and so is which gets the gradient",
    ".logical_not_(": "PyTorch keeps the history from before the change, whose slope is zero",
}
"""Calls after which gradients are not compared, and why."""


def follow(source: str, names: Mapping[str, Any]) -> str:
    """Raise AssertionError unless the steps of a program do the same with PyTorch as with tt.

    Parameters
    ----------
    source : str
        The program.
    names : mapping
        What tt's run has left.
    """
    torch = reference().torch
    found: dict[str, Any] = {"tt": torch, "step": TorchSteps()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, found)
    lines = [text for text in source.splitlines() if text.startswith("with step")]
    for line, one, other in zip(lines, names["step"].refused, found["step"].refused, strict=True):
        if one and other:
            if not re.match(r"with step: \w = ", line):
                return "refused by both"  # which may have resized the target
        elif one:
            if one.startswith(STRICTER) or EMPTY.search(one):
                return "stricter"
            raise AssertionError(f"refused, and PyTorch does not\n{line}\n{one}")
        elif other:
            if any(words in other for words in LOOSER):
                return "looser"
            raise AssertionError(f"accepted, and PyTorch does not\n{line}\n{other}")
    bits = BITS.search(source) is not None
    if "float16" in source and "2**" in source:
        return "undefined"  # an integer beyond half precision is infinite in PyTorch before it is added
    if COPIED.search(source) and any(
        isinstance(value, tt.Tensor) and value.numel() > 1 and value.stride() != found[name].stride()
        for name, value in names.items()
    ):
        return "undefined"  # strides of results are promised for views and contiguous arguments only
    _compare_memory(names, found)
    accepted = either_infinite if "complex" in source and PARTS.search(source) else None
    # Formulas that are equal for finite numbers let other infinities cancel.
    of_gradients = either_infinite if "float('" in source or "1e15" in source else accepted
    rounded = "float16" in source and ROUNDED.search(source) is not None
    for name, value in names.items():
        if isinstance(value, tt.Tensor):
            wanted = found[name]
            try:
                value.detach()
                grad = value.grad if value.is_leaf else None
            except InplaceError:  # one of several views that came from one call, whose memory was changed
                return "stricter"
            try:
                other = wanted.grad if wanted.is_leaf else None
            except RuntimeError as error:
                if any(words in str(error) for words in LOOSER):
                    return "looser"
                raise
            if bits and value.requires_grad and not wanted.requires_grad:
                return "looser"
            _compare(name, value, wanted, accepted, rounded)
            if (grad is None) != (other is None):
                raise AssertionError(
                    f"{'no ' if grad is None else ''}gradient, other than in PyTorch\n{name}"
                )
            if grad is not None and not any(call in source for call in GRADIENTS):
                _compare(f"{name}.grad", grad, other, of_gradients, rounded)
    return "agrees"


def follow_quantized(source: str, names: Mapping[str, Any]) -> str:
    """Raise AssertionError unless PyTorch gives the same integers and quantizers; see `follow`.

    Steps that one of the two refuses end the comparison: PyTorch's kernels take few shapes, dtypes and quantizers.
    """
    torch = reference().torch
    found: dict[str, Any] = {"tt": torch, "step": TorchSteps()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, found)
        except Exception:
            return "refused"
    for one, other in zip(names["step"].refused, found["step"].refused, strict=True):
        if one or other:
            return "refused by both" if one and other else "stricter" if one else "looser"
    for name, value in names.items():
        if len(name) > 1 or name not in found:
            continue
        wanted = found[name]
        if isinstance(value, float | int):
            assert value == wanted or value != value, (
                f"another number\n{name}: {value}, PyTorch's is {wanted}"
            )
        elif isinstance(value, tt.Tensor) and value.is_quantized:
            _compare_quantized(name, value, wanted)
        elif isinstance(value, tt.Tensor):
            _compare(name, value, wanted, None, False)
    return "agrees"


def _compare_quantized(name: str, value: Any, wanted: Any) -> None:
    if not wanted.is_quantized or str(value.dtype).removeprefix("tt.") != str(wanted.dtype).removeprefix(
        "torch."
    ):
        raise AssertionError(f"another dtype\n{name}: {value.dtype}, PyTorch's is {wanted.dtype}")
    of_channels = value.qscheme() is not tt.per_tensor_affine
    if of_channels and len(value.q_per_channel_scales()) == 1:
        return  # PyTorch's views take a single channel for no channels
    if str(value.qscheme()).removeprefix("tt.") != str(wanted.qscheme()).removeprefix("torch."):
        raise AssertionError(f"another scheme\n{name}: {value.qscheme()}, PyTorch's is {wanted.qscheme()}")
    if not of_channels:
        facts = [(x.q_scale(), x.q_zero_point()) for x in (value, wanted)]
    else:  # without the dimension, which PyTorch's views miss
        facts = [
            (x.q_per_channel_scales().tolist(), x.q_per_channel_zero_points().tolist())
            for x in (value, wanted)
        ]
    if repr(facts[0]) != repr(facts[1]):  # NaN is NaN
        raise AssertionError(f"another quantizer\n{name}: {facts[0]}, PyTorch's is {facts[1]}")
    mine, theirs = (np.asarray(x.int_repr().numpy()).astype(np.int64) for x in (value, wanted))
    if mine.shape != theirs.shape:
        raise AssertionError(f"another shape\n{name}: {mine.shape}, PyTorch's is {theirs.shape}")
    # The tables of single precision end before 32 bits do.
    wrong = abs(mine - theirs) > (abs(theirs) * 1e-6 if value.dtype is tt.qint32 else 0)
    if wrong.any():
        raise AssertionError(
            f"other integers\n{name}: {mine[wrong][:4]}, PyTorch's are {theirs[wrong][:4]}; "
            f"{wrong.sum()} of {wrong.size}"
        )


def either_infinite(found: Any, wanted: Any) -> Any:
    """Return where one of two numbers is infinite or NaN: which part of a complex number is, is left open."""
    return ~(np.isfinite(found) & np.isfinite(wanted))


def _compare_memory(names: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Compare which tensors share memory, and where they lie in it."""
    tensors = [name for name, value in names.items() if isinstance(value, tt.Tensor) and value.numel()]
    for place, one in enumerate(tensors):
        for other in tensors[:place]:
            facts = []
            for left, right in ((names[one], names[other]), (found[one], found[other])):
                shared = left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr()
                steps = [
                    [step for step, size in zip(x.stride(), x.shape, strict=True) if size > 1]
                    for x in (left, right)
                ]
                facts.append((left.data_ptr() - right.data_ptr(), *steps) if shared else None)
            if facts[0] != facts[1]:
                raise AssertionError(
                    f"other memory\n{one} and {other}: bytes between and strides {facts[0]}, PyTorch's {facts[1]}"
                )


def _compare(name: str, value: Any, wanted: Any, accepted: Any, rounded: bool) -> None:
    if value.requires_grad != wanted.requires_grad:
        raise AssertionError(f"requires_grad is {value.requires_grad}\n{name}")
    if str(value.dtype).removeprefix("tt.") != str(wanted.dtype).removeprefix("torch."):
        raise AssertionError(f"another dtype\n{name}: {value.dtype}, PyTorch's is {wanted.dtype}")
    expected = reference().to_arrays(wanted)
    scale = scale_of([expected])
    for problem in differences(
        value.detach(), expected, half=rounded or value.dtype.itemsize == 2, accepted=accepted, scale=scale
    ):
        raise AssertionError(f"{problem}\n{name}")
