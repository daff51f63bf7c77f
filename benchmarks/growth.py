"""Growth of costs with installed operators, with the size of a graph, and with the size of tensors.

A call must cost the same however many operators, plugins and devices are installed; a backward pass and a training step
must cost the same per node and operator however many there are; and the throughput of large tensors is compared with
the machine's memory and matrix products, both measured here.
"""

from __future__ import annotations

import gc
import importlib
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import measure_case

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "backward_cost", "ceilings", "crowd_cost", "growth", "growth_text", "slope", "step_cost", "throughput",
]  # fmt: skip

CROWDS = {"operators": (0, 10, 100, 1000), "plugins": (0, 4, 16, 64), "devices": (0, 4, 8, 16)}
NODES = (100, 1_000, 10_000, 100_000)
STEPS = (10, 100, 1_000, 10_000)
SIZES = tuple(2**power for power in range(8, 25, 2))
EDGES = (32, 64, 128, 256, 512, 1024, 2048)
STATEMENTS = {"x + y": 12, "exp(x)": 8, "x.sum()": 4}
"""Statements over n elements of float32, and the bytes that they read and write for each."""


# --- with installed operators, plugins and devices ---


def crowd_cost(kind: str, counts: Sequence[int], *, busy: bool = False) -> list[dict[str, Any]]:
    """Return the cost of an addition with many operators, plugins or devices, each in its own process."""
    rows = []
    for count in counts:
        command = [
            sys.executable,
            "-m",
            "benchmarks.populated",
            kind,
            str(count),
            *(["busy"] if busy else []),
        ]
        done = subprocess.run(
            command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{count} {kind}: {done.stderr.strip().splitlines()[-1]}")
        rows.append({"count": count, **json.loads(done.stdout)})
    return rows


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the power of the size with which costs grow: 0 if they do not, 1 if in proportion."""
    import numpy as np

    return float(np.polyfit(np.log([max(size, 1) for size in sizes]), np.log(costs), 1)[0])


# --- with the size of a graph ---


def backward_cost(
    libraries: Iterable[str], nodes: Sequence[int] = NODES, *, rounds: int = 5, busy: bool = False
) -> dict[str, list[dict[str, float]]]:
    """Return the microseconds of a backward pass for each node of chains of several lengths."""
    clock = time.thread_time if busy else time.perf_counter
    modules = {name: importlib.import_module(name) for name in libraries}
    curves: dict[str, list[dict[str, float]]] = {name: [] for name in modules}
    for count in nodes:
        times: dict[str, list[float]] = {name: [] for name in modules}
        for _ in range(max(rounds, min(50, 20_000 // count))):
            for name, lib in modules.items():
                start = lib.ones(()).requires_grad_()
                end = start
                for _ in range(count):
                    end = end * 1.0001
                gc.collect() if count > 1000 else None
                before = clock()
                end.backward()
                times[name].append((clock() - before) / count * 1e6)
        for name, samples in times.items():
            curves[name].append({"nodes": count, "microseconds": statistics.median(samples)})
    return curves


def step_cost(
    libraries: Iterable[str], operators: Sequence[int] = STEPS, *, rounds: int = 5, busy: bool = False
) -> dict[str, list[dict[str, float]]]:
    """Return the microseconds of a training step for each operator of its forward pass.

    A step clears the gradients, computes a chain of additions, products and hyperbolic tangents with 16 parameters of
    16 elements, goes back, and changes each parameter.  With so little data, the cost is that of the operators alone.
    """
    clock = time.thread_time if busy else time.perf_counter
    curves: dict[str, list[dict[str, float]]] = {}
    steps = {name: training_step(name) for name in libraries}
    for count in operators:
        times: dict[str, list[float]] = {name: [] for name in steps}
        for number in range(max(rounds, min(100, 20_000 // count)) + 1):
            for name, step in steps.items():
                gc.collect() if count > 1000 else None
                before = clock()
                step(count)
                if number:  # the first warms up
                    times[name].append((clock() - before) / count * 1e6)
        for name, samples in times.items():
            curves.setdefault(name, []).append(
                {"operators": count, "microseconds": statistics.median(samples)}
            )
    return curves


def training_step(library: str) -> Callable[[int], None]:
    """Return a function that does a step with so many operators in its forward pass."""
    lib = importlib.import_module(library)
    weights = [lib.full((16,), 0.5 + 0.01 * number).requires_grad_() for number in range(16)]
    data = lib.full((16,), 0.25)

    def step(count: int) -> None:
        for weight in weights:
            weight.grad = None
        value = data
        for number in range(count - 1):
            kind, weight = number % 3, weights[number % 16]
            value = value * weight if kind == 0 else value + weight if kind == 1 else value.tanh()
        value.sum().backward()
        with lib.no_grad():
            for weight in weights:
                if weight.grad is not None:
                    weight.add_(weight.grad, alpha=-0.001)

    return step


# --- with the size of tensors ---


def best(function: Callable[[], Any], *, seconds: float = 0.25) -> float:
    """Return the seconds of the fastest of some calls."""
    function()
    samples: list[float] = []
    until = time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < until:
        before = time.perf_counter()
        function()
        samples.append(time.perf_counter() - before)
    return min(samples)


def ceilings(threads: int) -> dict[str, float]:
    """Return the machine's limits: bytes a second from memory to memory, and operations a second in a product."""
    import numpy as np

    size = 16 * 2**20
    source, target = np.ones(size, np.float32), np.zeros(size, np.float32)
    cuts = np.linspace(0, size, threads + 1).astype(int)

    def copy(part: int) -> None:
        np.copyto(target[cuts[part] : cuts[part + 1]], source[cuts[part] : cuts[part + 1]])

    def copy_all() -> None:
        workers = [threading.Thread(target=copy, args=(part,)) for part in range(1, threads)]
        for worker in workers:
            worker.start()
        copy(0)
        for worker in workers:
            worker.join()

    edge = 1536
    left: np.ndarray[Any, Any] = np.ones((edge, edge), np.float32)
    right, product = left.copy(), left.copy()
    return {
        "memory_gigabytes_a_second": 2 * 4 * size / best(copy_all) / 1e9,
        "product_gigaflops": 2 * edge**3 / best(lambda: np.matmul(left, right, out=product)) / 1e9,
    }


def throughput(
    libraries: Sequence[str],
    sizes: Sequence[int] = SIZES,
    edges: Sequence[int] = EDGES,
    *,
    busy: bool = False,
) -> dict[str, list[dict[str, Any]]]:
    """Return the gigabytes a second of some statements by size, and the gigaflops of a product of squares."""
    from benchmarks.cases import Case

    curves: dict[str, list[dict[str, Any]]] = {}
    for statement, width in STATEMENTS.items():
        function = {"exp(x)": "exp(x)"}.get(statement)
        for size in sizes:
            case = Case(
                f"{statement}, {size}",
                tensor=f"lib.{function}" if function else statement,
                numpy=f"np.{function}" if function else statement,
                inputs={"x": f"float32[{size}]"} | ({"y": f"float32[{size}]"} if "y" in statement else {}),
                tolerance=1.0 if "sum" in statement else 1e-5,
            )
            row = measure_case(case, libraries, rounds=5, seconds=0.002, busy=busy).microseconds
            rates = {name: width * size / micro / 1e3 for name, micro in row.items()}
            curves.setdefault(statement, []).append({"size": size, **rates})
    for edge in edges:
        shape = f"float32[{edge},{edge}]"
        case = Case(f"m @ n, {edge}", "m @ n", numpy="m @ n", inputs={"m": shape, "n": shape}, tolerance=1e-3)
        row = measure_case(case, libraries, rounds=3, seconds=0.002, busy=busy).microseconds
        rates = {name: 2 * edge**3 / micro / 1e3 for name, micro in row.items()}
        curves.setdefault("m @ n", []).append({"size": edge, **rates})
    return curves


# --- all of it ---


def growth(
    libraries: Sequence[str], threads: int, *, busy: bool = False, short: bool = False
) -> dict[str, Any]:
    """Measure all of it; with `short` a few small points, to see that it runs."""
    chains = [name for name in libraries if name in ("tt", "torch")]

    def few(points: Sequence[int]) -> Sequence[int]:
        return points[:2] if short else points

    return {
        "crowd": {kind: crowd_cost(kind, few(counts), busy=busy) for kind, counts in CROWDS.items()},
        "backward": backward_cost(chains, few(NODES), busy=busy),
        "steps": step_cost(chains, few(STEPS), busy=busy),
        "throughput": throughput(libraries, few(SIZES), few(EDGES), busy=busy),
        "ceilings": ceilings(threads),
    }


def growth_text(found: dict[str, Any]) -> str:
    """Return the curves as tables."""
    from benchmarks.report import aligned, number

    parts = []
    for kind, points in found["crowd"].items():
        cases = [name for name in points[0] if name != "count"]
        rows = [[kind, *(f"{name}, us" for name in cases), *(f"{name}, to NumPy's" for name in cases)]]
        for point in points:
            times = [number(point[name]["microseconds"]) for name in cases]
            rows.append([str(point["count"]), *times, *(number(point[name]["to_numpy"]) for name in cases)])
        parts.append(f"a call by the number of {kind}\n{aligned(rows)}")
    parts.append(f"backward through a chain\n{chain_text(found['backward'], 'nodes', 'node')}")
    parts.append(f"training steps\n{chain_text(found['steps'], 'operators', 'operator')}")
    for statement, points in found["throughput"].items():
        names = [name for name in points[0] if name != "size"]
        unit = "GFLOP/s" if statement == "m @ n" else "GB/s"
        rows = [["elements" if unit == "GB/s" else "edge", *(f"{name}, {unit}" for name in names)]]
        rows += [[f"{point['size']:,}", *(number(point.get(name)) for name in names)] for point in points]
        parts.append(f"{statement}\n{aligned(rows)}")
    limits = found["ceilings"]
    parts.append(
        f"ceilings: {limits['memory_gigabytes_a_second']:.1f} GB/s from memory to memory, "
        f"{limits['product_gigaflops']:.0f} GFLOP/s in a product of float32"
    )
    return "\n\n".join(parts)


def chain_text(found: dict[str, list[dict[str, float]]], key: str, unit: str) -> str:
    """Return the costs by a length as a table, with the power with which they grow."""
    from benchmarks.report import aligned, number

    rows = [[key, *(f"{name}, us {'an' if unit[0] == 'o' else 'a'} {unit}" for name in found)]]
    for points in zip(*found.values(), strict=True):
        rows.append([f"{points[0][key]:,}", *(number(point["microseconds"]) for point in points)])
    exponents = [
        # Rounded first, and 0.0 added: least squares give +0.0 or -2e-17 for no growth, by processor.
        f"{round(slope([p[key] for p in points], [p['microseconds'] for p in points]), 2) + 0.0:+.2f}"
        for points in found.values()
    ]
    return aligned([*rows, ["grows with the power", *exponents]])
