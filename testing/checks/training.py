"""The check of a whole program: a small network learns on the device as it learns on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import tt
from tt.core.types.dtype import float32
from tt.testing.checks.case import SKIPPED, Case

__all__ = ["check_training", "train"]

IN_THE_NAME_OF: Final = "mm"
"""The loop is a check of this operator, without which nothing is trained."""
STEPS: Final = 8
RATE: Final = 0.1


def check_training(case: Case) -> Iterator[str]:
    """Train with in-place steps under `no_grad`, and compare losses and parameters with those of the CPU.

    A step that changes another tensor than the parameter, or a gradient that is added to an old one, looks right in
    every single call.
    """
    device = str(case.device)
    if case.definition.name != IN_THE_NAME_OF or not case.last or case.dtype is not float32:
        yield SKIPPED
        return
    if case.device_type == "meta" or not hasattr(tt.Tensor, "requires_grad"):
        yield SKIPPED
        return
    losses, parameters = train(device)
    if losses[-1] >= losses[0]:
        yield f"the loss did not fall: it was {losses[0]:.4g} and is {losses[-1]:.4g} after {STEPS} steps"
    if device == "cpu":
        return
    expected, expected_parameters = train("cpu")
    # Devices add in other orders, and every step carries the difference on.
    if not np.allclose(losses, expected, rtol=1e-3, atol=1e-5):
        yield f"the losses are {np.round(losses, 5).tolist()}, and on the CPU {np.round(expected, 5).tolist()}"
    for number, (actual, right) in enumerate(zip(parameters, expected_parameters, strict=True)):
        if not np.allclose(actual, right, rtol=1e-3, atol=1e-5):
            yield f"parameter {number} differs from that of the CPU by {np.abs(actual - right).max():.3g}"


def train(device: str) -> tuple[list[float], list[Any]]:
    """Return the losses of a small network and its parameters after the last step.

    Raises
    ------
    RuntimeError
        When a step returns another tensor than the parameter.
    """
    draw = np.random.default_rng(0)

    def tensor(*shape: int) -> Any:
        return tt.tensor(draw.standard_normal(shape).astype(np.float32), device=device)

    x, y = tensor(8, 4), tensor(8, 2)
    parameters = [tt.nn.Parameter(tensor(*shape)) for shape in ((4, 5), (5,), (5, 2))]
    first, bias, second = parameters
    losses = []
    for _ in range(STEPS):
        hidden = tt.relu(tt.mm(x, first) + bias)
        difference = tt.mm(hidden, second) - y
        loss = (difference * difference).mean()
        loss.backward()
        losses.append(loss.item())
        with tt.no_grad():
            for parameter in parameters:
                gradient: Any = parameter.grad
                changed: Any = parameter
                # `-=` binds the name to whatever comes back, so a second name keeps the parameter to compare with.
                changed -= RATE * gradient
                if changed is not parameter:
                    raise RuntimeError("`p -= step` under no_grad made another tensor than the parameter")
                # Zeroed and not dropped: the next backward pass has to add to this very tensor.
                gradient.zero_()
    return losses, [parameter.detach().cpu().numpy() for parameter in parameters]
