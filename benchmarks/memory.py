"""Memory of tensors and graphs: `python -m benchmarks.memory [LIBRARY]` measures one library.

Each figure is the growth of the process's resident memory, read from the system: what Python's own counters do not see
is in it.  A fresh interpreter for each library and figure.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.libraries import set_threads

__all__ = ["FIGURES", "highest", "measure_memory", "memory_text", "supported"]

MANY = 100_000
LINKS = 100
LINK_BYTES = 4 * 2**18
ROLLUP = Path("/proc/self/smaps_rollup")


def supported() -> bool:
    """Return whether the system says how much memory a process has."""
    return ROLLUP.exists()


def resident() -> int:
    """Return the bytes of this process that are in memory.

    The system walks the pages for it; the number in /proc/self/status, and the highest one there, are sums of counters
    that lag behind by megabytes.
    """
    for line in ROLLUP.read_text(encoding="utf-8").splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{ROLLUP} has no line Rss")


def highest() -> int:
    """Return the most bytes of this process that were ever in memory, as the system's counters have it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no line VmHWM")


def in_use(lib: Any) -> int:
    """Return the resident bytes without the free memory kept by the allocators of a library and of C."""
    keeps = getattr(lib.cpu, "empty_cache", None)
    if keeps is not None:
        keeps()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident()


def of_each(make: Callable[[int], list[Any]]) -> float:
    """Return the bytes of each of many objects; the first ones, which fill pools, are not counted."""
    early = make(MANY // 10)
    gc.collect()
    before = resident()
    late = make(MANY)
    gc.collect()
    grown = resident() - before
    assert len(early) + len(late) > MANY
    return grown / MANY


# --- the figures ---


def alias(lib: Any) -> dict[str, float]:
    """A tensor that shares its memory with another: the object alone."""
    base = lib.zeros(4)
    return {"bytes": of_each(lambda count: [base.detach() for _ in range(count)])}


def one_element(lib: Any) -> dict[str, float]:
    """A tensor of one element, with its memory."""
    return {"bytes": of_each(lambda count: [lib.zeros(1) for _ in range(count)])}


def node(lib: Any) -> dict[str, float]:
    """A node of a graph that saves no tensor: of a chain of products with a number."""

    def chain(count: int) -> list[Any]:
        end = lib.ones(()).requires_grad_()
        for _ in range(count):
            end = end * 1.0001
        chains.append(end)
        return [None] * count

    chains: list[Any] = []
    return {"bytes": of_each(chain)}


def backward(lib: Any) -> dict[str, float]:
    """A chain that saves 100 tensors of a megabyte: the memory held before, during, and after backward."""
    warm = lib.zeros(2).requires_grad_()
    (lib.sin(lib.exp(warm * 0.5) - 1.0)).sum().backward()
    start = lib.zeros(LINK_BYTES // 4).requires_grad_()
    gc.collect()
    empty = in_use(lib)
    end = start
    peaks: list[int] = []
    held: list[int] = []

    def look(gradient: Any) -> None:
        peaks.append(resident())
        held.append(in_use(lib))

    end = start
    for _ in range(LINKS // 2):
        end = lib.exp(end * 0.5) - 1.0
        end = lib.sin(end)
        end.register_hook(look)
    total = end.sum()
    del end
    forward = in_use(lib)
    total.backward()
    left = in_use(lib)
    return {
        "tensor": LINK_BYTES,
        "forward": forward - empty,
        "peak_over_forward": max(peaks) - forward,
        "halfway": held[LINKS // 4] - empty,
        "left": left - empty,
    }


def convnet(lib: Any, width: int) -> tuple[Any, Any, Any]:
    """Return a convolutional network, images and labels."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, width, 3), nn.ReLU(), nn.Conv2d(width, 2 * width, 3), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2 * width * 144, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    return model, lib.ones(8 * width, 1, 28, 28), lib.zeros(8 * width, dtype=lib.int64)


def transformer(lib: Any, width: int) -> tuple[Any, Any, Any]:
    """Return two layers of an encoder with a head, sequences and labels."""
    nn = lib.nn

    class Model(nn.Module):  # type: ignore[misc, name-defined]  # of tt or torch
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(8 * width, 8, 32 * width, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.head = nn.Linear(8 * width, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.encoder(x).mean(1))

    return Model(), lib.ones(2 * width, 128, 8 * width), lib.zeros(2 * width, dtype=lib.int64)


def training(make: Callable[[Any, int], tuple[Any, Any, Any]]) -> Callable[[Any], dict[str, float]]:
    """Return a figure: the most memory that three steps of AdamW take, model and data included."""

    def peak(lib: Any) -> dict[str, float]:
        def train(width: int) -> None:
            model, inputs, labels = make(lib, width)
            optimizer = lib.optim.AdamW(model.parameters())
            for _ in range(3):
                optimizer.zero_grad()
                lib.nn.functional.cross_entropy(model(inputs), labels).backward()
                optimizer.step()

        train(2)  # modules are loaded at first use
        gc.collect()
        before = in_use(lib)
        Path("/proc/self/clear_refs").write_text(
            "5", encoding="utf-8"
        )  # the highest is the present from here
        train(32)
        return {"peak": highest() - before}

    return peak


FIGURES: dict[str, Callable[[Any], dict[str, float]]] = {
    "alias": alias,
    "one_element": one_element,
    "node": node,
    "backward": backward,
    "convnet": training(convnet),
    "transformer": training(transformer),
}


def measure_memory(libraries: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return each figure of each library, each from a process of its own; empty where the system does not tell."""
    if not supported():
        return {}
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for figure in FIGURES:
        for library in libraries:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.memory", library, figure],
                cwd=Path(__file__).parents[1],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"{figure} of {library}: {done.stderr.strip().splitlines()[-1]}")
            figures.setdefault(figure, {})[library] = json.loads(done.stdout)
    return figures


def memory_text(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the figures as a table."""
    from benchmarks.report import aligned

    if not found:
        return "memory: not measured, the system does not report the memory of a process"
    libraries = list(found["alias"])
    rows = [["memory", *libraries]]
    words = {
        "alias": "a tensor that shares its memory, bytes",
        "one_element": "a tensor of one element, bytes",
        "node": "a node of a graph that saves nothing, bytes",
    }
    rows += [
        [text, *(f"{found[key][name]['bytes']:.0f}" for name in libraries)] for key, text in words.items()
    ]
    parts = {
        "forward": f"held by a graph that saves {LINKS} tensors of 1 MB, MB",
        "peak_over_forward": "the most that its backward adds, MB",
        "halfway": "held when half of backward is done, MB",
        "left": "held when all of it is done, MB",
    }
    for key, text in parts.items():
        rows.append([text, *(f"{found['backward'][name][key] / 2**20:.1f}" for name in libraries)])
    steps = {
        "convnet": "the most of training steps of a convnet, MB",
        "transformer": "of two layers of an encoder, MB",
    }
    for key, text in steps.items():
        rows.append([text, *(f"{found[key][name]['peak'] / 2**20:.0f}" for name in libraries)])
    return aligned(rows)


def main(words: list[str]) -> None:
    """Print one figure of a library, or all of it."""
    set_threads(1)
    if len(words) == 2:
        print(json.dumps(FIGURES[words[1]](importlib.import_module(words[0]))))
    else:
        print(memory_text(measure_memory(words or ["tt", "torch"])))


if __name__ == "__main__":
    main(sys.argv[1:])
