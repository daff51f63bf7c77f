"""Collectives between processes: `python -m benchmarks.distributed [--ranks 2] [--rounds 5] [--json FILE]`.

tt on MPI, with and without its guard, PyTorch on gloo, and mpi4py's bare calls.  Each library's ranks are processes of
their own, which take turns: all ranks of one measure, then those of the next, some rounds long; the medians of the
rounds are compared.  The last case is a step of `DistributedDataParallel` with 10 million parameters.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["SIZES", "distributed_text", "main", "measure_all"]

SIZES = {"1 KB": 1 << 8, "1 MB": 1 << 18, "25 MB": 25 << 18, "100 MB": 100 << 18}
"""Elements of float32."""
LIBRARIES = ("tt", "tt without guard", "torch", "mpi4py")
CALLS = 40
"""Of each case in a turn; the first ones do not count."""
STEP = "step of 10 M parameters"


def measure_all(
    ranks: int, rounds: int, sizes: Sequence[str] = (*SIZES, STEP)
) -> dict[str, dict[str, float]]:
    """Return seconds by case and library, medians of the rounds of rank 0's medians."""
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for library in LIBRARIES:
            if find_spec("torch" if library == "torch" else "mpi4py") is None:
                continue
            for case, seconds in _turn(library, ranks, sizes).items():
                found.setdefault(case, {}).setdefault(library, []).append(seconds)
    return {
        case: {name: statistics.median(times) for name, times in row.items()} for case, row in found.items()
    }


def distributed_text(found: dict[str, dict[str, float]]) -> str:
    """Return a table of times and of ratios."""
    lines = [
        "| | tt | its guard | torch (gloo) | mpi4py | tt / torch | tt / mpi4py |",
        "|---|---|---|---|---|---|---|",
    ]
    for case, row in found.items():
        own, bare = row.get("tt"), row.get("tt without guard")
        guard = f"{100 * (own / bare - 1):+.0f} %" if own and bare else "-"
        ratios = [f"{own / row[peer]:.2f}" if own and peer in row else "-" for peer in ("torch", "mpi4py")]
        times = [_time(row.get(name)) for name in ("torch", "mpi4py")]
        lines.append(f"| {case} | {_time(own)} | {guard} | {' | '.join((*times, *ratios))} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print, or be one rank."""
    if arguments is None and sys.argv[1:2] == ["--rank"]:
        _, library, rank, size, folder, *cases = sys.argv[1:]
        _be_rank(library, int(rank), int(size), Path(folder), cases)
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="processes of a job")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library")
    parser.add_argument("--cases", default=",".join((*SIZES, STEP)), help="names, with commas between them")
    parser.add_argument("--json", type=Path, help="also write the seconds to a file")
    options = parser.parse_args(arguments)
    found = measure_all(options.ranks, options.rounds, options.cases.split(","))
    print(distributed_text(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _turn(library: str, ranks: int, cases: Sequence[str]) -> dict[str, float]:
    """Start the ranks of one library, and return what rank 0 has measured."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        variables["TT_DISTRIBUTED_GUARD"] = "0" if library == "tt without guard" else "1"
        command = [sys.executable, "-m", "benchmarks.distributed", "--rank", library]
        started = [
            subprocess.Popen([*command, str(rank), str(ranks), folder, *cases], env=variables)
            for rank in range(ranks)
        ]
        failed = [process.wait() for process in started]
        if any(failed):
            raise RuntimeError(f"a rank of {library} failed")
        found: dict[str, float] = json.loads(Path(folder, "found").read_text(encoding="utf-8"))
        return found


def _be_rank(library: str, rank: int, size: int, folder: Path, cases: Sequence[str]) -> None:
    reduce, meet, step, leave = (_of_mpi if library == "mpi4py" else _of_framework)(
        library, rank, size, folder
    )
    found = {}
    for case in cases:
        run = step if case == STEP else reduce(SIZES[case])
        if run is not None:
            found[case] = _median(run, meet)
    if rank == 0:
        Path(folder, "found").write_text(json.dumps(found), encoding="utf-8")
    leave()


def _median(run: Callable[[], object], meet: Callable[[], object]) -> float:
    """Return the median seconds of a call that starts together on all ranks."""
    times = []
    for _ in range(CALLS):
        meet()
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[CALLS // 5 :])


def _of_framework(library: str, rank: int, size: int, folder: Path) -> Any:
    name = library.split()[0]
    lib: Any = importlib.import_module(name)
    dist: Any = importlib.import_module(f"{name}.distributed")
    store = dist.FileStore(str(folder / "store"), size)
    dist.init_process_group("mpi" if name == "tt" else "gloo", store=store, rank=rank, world_size=size)

    def reduce(count: int) -> Callable[[], object]:
        tensor = lib.zeros(count)
        return lambda: dist.all_reduce(tensor)

    model = lib.nn.Sequential(
        *(layer for _ in range(10) for layer in (lib.nn.Linear(1000, 1000), lib.nn.ReLU()))
    )
    parallel = lib.nn.parallel.DistributedDataParallel(model)
    x = lib.ones(32, 1000)

    def step() -> None:
        model.zero_grad()
        parallel(x).sum().backward()

    return reduce, dist.barrier, step, dist.destroy_process_group


def _of_mpi(library: str, rank: int, size: int, folder: Path) -> Any:
    # Started as tt starts it, so that nothing but the calls differs.
    import numpy as np

    import tt.distributed as dist

    store = dist.FileStore(str(folder / "store"), size)
    dist.init_process_group("mpi", store=store, rank=rank, world_size=size)
    mpi = importlib.import_module("mpi4py.MPI")
    world = mpi.COMM_WORLD

    def reduce(count: int) -> Callable[[], object]:
        array = np.zeros(count, np.float32)
        return lambda: world.Allreduce(mpi.IN_PLACE, array)

    return reduce, world.Barrier, None, dist.destroy_process_group


if __name__ == "__main__":
    sys.exit(main())
