"""What jobs use: inputs and weights that are the same under tt and under PyTorch, and tolerances.

The random numbers of tt and of PyTorch differ, so that everything random comes from generators of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tolerance", "fill", "integers", "restart", "rng", "tensor", "tolerance"]

Part = TypeVar("Part", bound=Callable[[], Any])


class _Stream:
    """The generator of a part, which begins anew with each part."""

    generator = np.random.default_rng(0)


def restart() -> None:
    """Begin the numbers of `rng`, `tensor` and `integers` anew; the runner does it before each part."""
    _Stream.generator = np.random.default_rng(0)


def rng() -> np.random.Generator:
    """Return the generator of the part."""
    return _Stream.generator


def tensor(
    *shape: int, scale: float = 1.0, positive: bool = False, grad: bool = False, dtype: Any = None
) -> Any:
    """Return a tensor of normal numbers, of float32 unless a dtype says otherwise.

    `positive` gives numbers of [0.1, 1.1), as images, probabilities and variances need.
    """
    import torch

    numbers = rng().random(shape) + 0.1 if positive else rng().standard_normal(shape)
    result = torch.as_tensor(np.asarray(numbers * scale, dtype=np.float64)).to(dtype or torch.float32)
    return result.requires_grad_() if grad else result


def integers(low: int, high: int, shape: Sequence[int], dtype: Any = None) -> Any:
    """Return a tensor of integers of [low, high), of int64 unless a dtype says otherwise."""
    import torch

    return torch.as_tensor(rng().integers(low, high, tuple(shape))).to(dtype or torch.int64)


def fill(module: Any, *, buffers: Sequence[str] = (), scale: float = 1.0) -> Any:
    """Set all parameters and the running statistics of a module, and return the module.

    Each tensor's numbers depend on its name and shape alone.  Matrices are divided by the square root of what they sum
    over, scales of normalizations lie about 1, and other vectors are small.  `buffers` names further buffers (by the
    end of their name) that the library draws; what it computes (positions, masks) stays.
    """
    import torch

    state = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers())}
    drawn = ("running_mean", "running_var", *buffers)
    parameters = dict(module.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for name in sorted(state):
            target = state[name]
            is_number = target.is_floating_point() or target.is_complex()
            if not is_number or not (name in parameters or name.endswith(drawn)):
                continue
            target.copy_(torch.as_tensor(_weights(name, tuple(target.shape)) * scale).to(target.dtype))
    return module


def _weights(name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    numbers = np.random.default_rng(crc32(name.encode())).standard_normal(shape)
    if name.endswith("running_var"):
        return np.abs(numbers) + 0.5
    if len(shape) >= 2:
        return np.asarray(numbers / np.sqrt(max(1, np.prod(shape[1:]))))
    return np.asarray(0.1 * numbers + (1.0 if name.endswith(("weight", "scale", "gamma", "g")) else 0.0))


class Tolerance:
    """How much the numbers of a part may differ from PyTorch's, and why."""

    def __init__(self, rtol: float, atol: float, reason: str) -> None:
        self.rtol = rtol
        self.atol = atol
        self.reason = reason


NAME: Final = "ecosystem_tolerance"
"""The attribute of a part that holds its tolerance."""


def tolerance(*, rtol: float = 1e-4, atol: float = 1e-5, reason: str) -> Callable[[Part], Part]:
    """Let the numbers of a part differ by more than float32 does, for a reason."""
    if not reason.strip():
        raise ValueError("tolerance() needs the reason why the numbers differ by more")

    def mark(part: Part) -> Part:
        setattr(part, NAME, Tolerance(rtol, atol, reason))
        return part

    return mark
