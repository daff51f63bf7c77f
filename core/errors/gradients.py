"""Backward passes that are not possible, and gradients that are wrong."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors.base import TTError


class GradientError(TTError, RuntimeError):
    """A backward pass that is not possible."""


class NoDerivativeError(GradientError, NotImplementedError):
    """A derivative that nobody has written: of an operator, by one of its arguments, or of a backward pass."""


class GradcheckError(GradientError):
    """A gradient that is not what finite differences say, found by `gradcheck`."""


class UnstableOutputsError(GradcheckError, AssertionError):
    """A function whose outputs differ in number, shape or dtype between calls, so that `gradcheck` cannot compare."""


class SavedTensorError(GradientError):
    """A tensor needed by backward was changed in place after it was saved."""

    def __init__(self, node: str, shape: Sequence[int], dtype: str, saved: int, found: int) -> None:
        self.node, self.shape, self.dtype, self.saved, self.found = node, tuple(shape), dtype, saved, found
        super().__init__(
            f"a tensor that backward needs was changed in place: {dtype} {list(shape)}, saved by {node} at version "
            f"{saved}, is now at version {found}\n"
            f"  try: clone the tensor before changing it in place"
        )


class AnomalyError(GradientError):
    """A backward pass that made a NaN, found by `detect_anomaly`."""

    def __init__(self, node: str, place: int) -> None:
        self.node, self.place = node, place
        super().__init__(
            f"{node} made a NaN in its gradient {place}\n  try: see the warning above for the call that was recorded"
        )


class CheckpointError(GradientError):
    """A checkpointed function that did something else when it ran again."""


class InferenceTensorError(GradientError):
    """A tensor made in inference mode was used where that is not possible."""
