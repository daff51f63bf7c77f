"""Finding where a backward pass went wrong: nodes remember the call that made them, gradients are searched for NaN."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tt.core.library import Block, Carried, errors, ops, warn_user
from tt.plugins.autograd.record.graph import STATE, Node

__all__ = [
    "check_gradients",
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "note_origin",
    "report",
    "running",
    "set_detect_anomaly",
]

PACKAGE = str(Path(__file__).parents[3])
ORIGIN = "traceback_"
PARENT = "parent_"


class _Running(Carried):
    """The nodes that a thread runs while anomalies are searched; a node made meanwhile belongs to the last one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []


_RUNNING = _Running()


def note_origin(node: Node) -> None:
    """Let a node remember the call that made it."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(PACKAGE):
        frames.pop()  # frames inside tt do not help the user
    node.metadata[ORIGIN] = frames.format()
    # A node that is made in a backward pass: the error of a second derivative names both calls.
    if _RUNNING.nodes:
        node.metadata[PARENT] = _RUNNING.nodes[-1]


def report(node: Node) -> None:
    """Warn where the node that fails was made, and, each in a warning of its own, the nodes whose backward made it."""
    seen: Node | None = node
    text = f"Error detected in {node.name()}; the call that recorded it:\n"
    while seen is not None:
        origin = seen.metadata.get(ORIGIN)
        text += (
            "".join(origin)
            if origin
            else f"  No forward pass information: {seen.name()} was made outside anomaly detection\n"
        )
        try:
            warn_user(text)
        except Warning as warning:  # the filters make it an error, which must not hide the program's own
            print(warning, file=sys.stderr)
        seen = seen.metadata.get(PARENT)
        if seen is not None:
            text = f"which came from the backward of {seen.name()}, recorded by:\n"


class running:  # noqa: N801 - reads as a statement: with running(node)
    """Notes which node runs, and reports where it was made if it fails."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __enter__(self) -> None:
        _RUNNING.nodes.append(self._node)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _RUNNING.nodes.pop()
        if error is not None:
            report(self._node)


def check_gradients(node: Node, gradients: Sequence[Any]) -> None:
    """Raise if a gradient that a node computed has a NaN.

    Raises
    ------
    AnomalyError
        With the node and the place of the gradient.
    """
    for position, gradient in enumerate(gradients):
        if gradient is not None and bool(ops.any(ops.isnan(gradient))):
            raise errors.AnomalyError(node.name(), position)


class detect_anomaly(Block):  # noqa: N801 - PyTorch's name
    """Searches for errors of backward passes in a `with` block.

    A backward pass that raises warns where the call was recorded whose gradient it computed; one that makes a NaN
    raises.  Recording takes longer meanwhile: use it to look for mistakes only.

    Parameters
    ----------
    check_nan : bool
        Whether a NaN is an error.

    Examples
    --------
    >>> import tt, warnings
    >>> x = tt.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with tt.autograd.detect_anomaly():
    ...         y = (x.sqrt() * 0).sum()
    ...         y.backward()
    Traceback (most recent call last):
        ...
    tt.core.errors.AnomalyError: SqrtBackward0 made a NaN in its gradient 0
      try: see the warning above for the call that was recorded
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._wanted = 2 if check_nan else 1
        warn_user(
            "Anomaly Detection has been enabled, which makes everything slower: use it to look for mistakes only"
        )

    def _look(self) -> int:
        return int(STATE.anomaly)

    def _begin(self) -> None:
        STATE.anomaly = self._wanted

    def _end(self, before: int) -> None:
        STATE.anomaly = before


class set_detect_anomaly(Block):  # noqa: N801 - PyTorch's name
    """Switches the search for errors of backward passes on or off, at once; in a `with` block until its end.

    Parameters
    ----------
    mode : bool
        Whether to search.
    check_nan : bool
        Whether a NaN is an error.

    Examples
    --------
    >>> import tt
    >>> with tt.autograd.set_detect_anomaly(True, check_nan=False):
    ...     tt.is_anomaly_enabled(), tt.is_anomaly_check_nan_enabled()
    (True, False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = STATE.anomaly
        STATE.anomaly = (2 if check_nan else 1) if mode else 0

    def _begin(self) -> None:
        pass

    def _end(self, before: None) -> None:
        STATE.anomaly = self._before


def is_anomaly_enabled() -> bool:
    """Return whether nodes remember where they were made.

    Examples
    --------
    >>> import tt
    >>> tt.is_anomaly_enabled()
    False
    """
    return STATE.anomaly > 0


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether gradients are searched for NaN.

    Examples
    --------
    >>> import tt
    >>> tt.is_anomaly_check_nan_enabled()
    False
    """
    return STATE.anomaly > 1
