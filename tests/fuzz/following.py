"""Running a sequence of calls with PyTorch after tt, and what may differ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

import tt
from tests.fuzz.comparison import differences, reference, scale_of
from tests.fuzz.verdicts import judged
from tt.core.errors import InplaceError

__all__ = ["Steps", "follow"]


class Steps:
    """A context that notes whether a step was refused, and goes on; what is no refusal of tt's gets out.

    Attributes
    ----------
    refused : list of str
        For each step the class of the exception, or nothing.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []

    def __enter__(self) -> None:
        pass

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
"""What tt refuses where PyTorch computes with memory that it is writing to, wraps around, or divides no elements."""
LOOSER: Final = (
    # Operands are read before anything is written, so they may share memory with the target.
    "unsupported operation: some elements of the input tensor", "unsupported operation: more than one element",
    # Changing how a view is seen changes no value.
    "leaf Variable that requires grad",
    # Gradients that PyTorch lacks, or computes wrongly.
    "derivative for aten::", "returned an invalid gradient", "Autograd not support dtype",
    "Tensor must have a last dimension with stride 1", "Expected isFloatingType", "must be divisible by",
    "self.stride(-1) must be 1",
    # Views that came from one call, of a tensor that got a history later.
    "A view was created in",
    # What tt saves of a tensor that is multiplied with itself in place is a copy.
    "one of the variables needed for gradient computation has been modified",
)  # fmt: skip
"""What PyTorch refuses and tt need not."""


def follow(source: str, names: Mapping[str, Any]) -> str:
    """Raise AssertionError unless the steps of a program do with PyTorch what they did with tt.

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
            if "out=" in line or "_(" in line:
                return "refused by both"  # which may have resized the target
        elif one:
            if one.startswith(STRICTER):
                return "stricter"
            raise AssertionError(f"refused, and PyTorch does not\n{line}\n{one}")
        elif other:
            if any(words in other for words in LOOSER):
                return "looser"
            raise AssertionError(f"accepted, and PyTorch does not\n{line}\n{other}")
    for name, value in names.items():
        if isinstance(value, tt.Tensor):
            try:
                value.detach()
            except InplaceError:  # one of several views that came from one call, whose memory was changed
                return "stricter"
            _compare(name, value, found[name])
            grad, other = (x.grad if x.is_leaf else None for x in (value, found[name]))
            if (grad is None) != (other is None):
                raise AssertionError(
                    f"{'no ' if grad is None else ''}gradient, other than in PyTorch\n{name}"
                )
            if grad is not None:
                _compare(f"{name}.grad", grad, other)
    return "agrees"


def _compare(name: str, value: Any, wanted: Any) -> None:
    if value.requires_grad != wanted.requires_grad:
        raise AssertionError(f"requires_grad is {value.requires_grad}\n{name}")
    if str(value.dtype).removeprefix("tt.") != str(wanted.dtype).removeprefix("torch."):
        raise AssertionError(f"another dtype\n{name}: {value.dtype}, PyTorch's is {wanted.dtype}")
    expected = reference().to_arrays(wanted)
    scale = scale_of([expected])
    for problem in differences(
        value.detach(), expected, half=value.dtype.itemsize == 2, accepted=None, scale=scale
    ):
        raise AssertionError(f"{problem}\n{name}")
