"""Shape rules of the loss of sequences whose alignment is unknown."""

from __future__ import annotations

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import Described
from tt.core.shapes.registry import RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


def check_lengths(
    log_probs: Described, targets: Described, input_lengths: Shape, target_lengths: Shape
) -> None:
    """Raise unless there are lengths for each item, which steps and targets contain."""
    steps, batch = log_probs.shape[0], log_probs.shape[1]
    if targets.shape[0] != batch:
        raise ShapeError(
            f"ctc_loss(): there are {batch} items in log_probs, but {targets.shape[0]} in targets"
        )
    for name, lengths, most in (
        ("input_lengths", input_lengths, steps),
        ("target_lengths", target_lengths, targets.shape[1]),
    ):
        if len(lengths) != batch:
            raise ShapeError(f"ctc_loss(): {name} has a number for each of {batch} items, got {len(lengths)}")
        if any(not 0 <= n <= most for n in lengths):
            raise ShapeError(f"ctc_loss(): {name} must be numbers from 0 to {most}, got {list(lengths)}")


@rule("ctc_loss")
def ctc_loss(
    log_probs: Described, targets: Described, input_lengths: Shape, target_lengths: Shape, *, op: str
) -> tuple[Shape, Shape]:
    """A number for each item, and one for each item, step and state."""
    if log_probs.ndim != 3 or not log_probs.shape[0] or targets.ndim != 2 or targets.dtype.name != "int64":
        raise ShapeError(
            f"{op}(): expected log_probs (time, batch, classes) and int64 targets (batch, length), got "
            f"{list(log_probs.shape)} and {targets.dtype} {list(targets.shape)}"
        )
    check_lengths(log_probs, targets, tuple(input_lengths), tuple(target_lengths))
    batch = log_probs.shape[1]
    return (batch,), (batch, log_probs.shape[0], 2 * targets.shape[1] + 1)


@rule("ctc_loss_backward")
def ctc_loss_backward(
    grad: Described,
    log_probs: Described,
    targets: Described,
    input_lengths: Shape,
    target_lengths: Shape,
    loss: Described,
    log_alpha: Described,
    *,
    op: str,
) -> Shape:
    """The gradient of log_probs."""
    one, states = ctc_loss(log_probs, targets, input_lengths, target_lengths, op=op)
    for name, tensor, shape in (("grad", grad, one), ("loss", loss, one), ("log_alpha", log_alpha, states)):
        if tuple(tensor.shape) != shape:
            raise ShapeError(f"{op}(): {name} must have the shape {list(shape)}, got {list(tensor.shape)}")
    if log_alpha.dtype is not log_probs.dtype:
        raise DtypeError(f"{op}(): log_alpha must have the dtype {log_probs.dtype}, got {log_alpha.dtype}")
    return tuple(log_probs.shape)
