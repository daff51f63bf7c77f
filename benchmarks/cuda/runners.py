"""The ways in which a case is run: plain calls of tt and PyTorch, replayed graphs of both, and torch.compile."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks.cuda.cases import Case, arrays_of, function_of

__all__ = ["NAMES", "Clock", "Events", "Runner", "Wall", "captured", "clock_of", "make_runner", "to_array"]

NAMES = {
    "tt": "tt",
    "tt, replayed": "tt",
    "torch": "torch",
    "torch.compile": "torch",
    "torch, replayed": "torch",
}
"""The name of a runner -> its library."""

KINDS = {"torch.compile": "compile", "torch, replayed": "graph", "tt, replayed": "replay"}
"""The name of a runner -> its name in a case; plain calls are always measured."""

WARM = 3


class Clock(Protocol):
    """Measures how long the device worked on some calls, and how long the program took to submit them."""

    def time(self, call: Callable[[], Any], count: int) -> tuple[float, float]:
        """Return the seconds of the device and those of submitting, for all calls together."""


class Events:
    """A clock of two events on the device, between which the calls lie.

    Parameters
    ----------
    cuda : module
        `tt.cuda` or `torch.cuda`.
    """

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda

    def time(self, call: Callable[[], Any], count: int) -> tuple[float, float]:
        """Return the seconds of the device and those of submitting."""
        first, last = (self.cuda.Event(enable_timing=True) for _ in range(2))
        self.cuda.synchronize()
        first.record()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        submitted = time.perf_counter() - begin
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3, submitted


class Wall:
    """A clock of the time that passes, for libraries that compute at once."""

    def time(self, call: Callable[[], Any], count: int) -> tuple[float, float]:
        """Return the seconds that passed, twice."""
        begin = time.perf_counter()
        for _ in range(count):
            call()
        passed = time.perf_counter() - begin
        return passed, passed


def clock_of(library: Any, device: str) -> Clock:
    """Return the clock of a library on a device."""
    return Events(library.cuda) if device.startswith("cuda") else Wall()


@dataclass
class Runner:
    """A case, ready to be run in one way.

    Attributes
    ----------
    name : str
        Of `NAMES`.
    call : callable
        Runs it once and returns the value.
    clock : Clock
        Times it.
    """

    name: str
    call: Callable[[], Any]
    clock: Clock


def make_runner(name: str, case: Case, *, device: str, dry: bool) -> Runner:
    """Return a case, ready to be run in one way.

    Parameters
    ----------
    name : str
        Of `NAMES`.
    device : str
        Where the library computes.
    dry : bool
        With the tiny sizes.
    """
    library = importlib.import_module(NAMES[name])
    functional = importlib.import_module(f"{NAMES[name]}.nn.functional")
    numbers = case.numbers(dry=dry)
    names: dict[str, Any] = {"lib": library, "F": functional, "device": device, **numbers}
    for key, (array, dtype) in arrays_of(case, numbers).items():
        value = library.from_numpy(array).to(device).to(getattr(library, dtype))
        names[key] = value.requires_grad_() if key in case.gradient else value
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Sparse (.* tensor support is in beta|invariant checks)"
        )  # PyTorch on its own
        call = function_of(case, names)
    if name == "torch.compile":
        call = library.compile(call)
    elif "replayed" in name:
        call = captured(library, call)
    return Runner(name, call, clock_of(library, device))


def captured(library: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """Return what replays the graph of a call; both libraries spell it alike."""
    cuda = library.cuda
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):  # objects made at the first call must not be made while a graph is captured
        for _ in range(WARM):
            call()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        result = call()

    def replay() -> Any:
        graph.replay()
        return result

    return replay


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """Return a tensor of either library in a dtype that NumPy has."""
    value = value.detach().cpu()
    if str(value.dtype).rpartition(".")[2] in ("bfloat16", "float16"):
        value = value.float()
    return np.asarray(value.numpy())
