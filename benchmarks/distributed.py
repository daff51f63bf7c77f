"""Collectives between processes: `python -m benchmarks.distributed [--ranks 2] [--rounds 5] [--json FILE]`.

tt on its engine gloo, with and without the guard, and on MPI, PyTorch on gloo, and mpi4py's bare calls; those that are
installed.  Each library's ranks are processes of their own, which take turns: all ranks of one measure, then those of
the next, some rounds long; the medians of the rounds are compared.  The last case is a step of
`DistributedDataParallel` with 10 million parameters.

`--one-rank` compares such a step on one rank with that of the model alone, and `--schemes` measures it with DDP, ZeRO
and FSDP on 1, 2 and 4 ranks next to the predictions of `benchmarks.distributed_model` from the times of `all_reduce`.
`--overlap` compares a step of FSDP with one that waits for each average of gradients before backward goes on, between
two processes of this machine and over a slower network, which is imitated.
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

from benchmarks.distributed_engine import slow_engine
from benchmarks.distributed_model import SCHEMES, Operation, copied, operations, traffic

__all__ = [
    "LIBRARIES", "NEEDS", "SIZES", "distributed_text", "main", "measure_all", "measure_one_rank", "measure_overlap",
    "measure_schemes", "one_rank_text", "overlap_text", "schemes_text",
]  # fmt: skip

SIZES = {"1 KB": 1 << 8, "1 MB": 1 << 18, "25 MB": 25 << 18, "100 MB": 100 << 18}
"""Elements of float32."""
GLOO, UNGUARDED, MPI = "tt on gloo", "tt on gloo without guard", "tt on mpi"
LIBRARIES = (GLOO, UNGUARDED, MPI, "torch", "mpi4py")
NEEDS = {MPI: "mpi4py", "torch": "torch", "mpi4py": "mpi4py"}
CALLS = 40
"""Of each case in a turn; the first ones do not count."""
STEP = "step of 10 M parameters"
LAYERS, WIDTH = 10, 1000
COMPUTING, COPYING = "computing", "copy of 25 MB"
WAITING = "FSDP that waits"
BANDWIDTH = "BENCHMARKS_BANDWIDTH"
NETWORKS = {"this machine": 0.0, "10 Gbit/s": 1.25e9, "4 Gbit/s": 5e8}
"""Bytes a second; 0 for the machine's own."""


def measure_all(
    ranks: int, rounds: int, sizes: Sequence[str] = (*SIZES, STEP)
) -> dict[str, dict[str, float]]:
    """Return seconds by case and library, medians of the rounds of rank 0's medians."""
    seconds_of: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for library in LIBRARIES:
            if library in NEEDS and find_spec(NEEDS[library]) is None:
                continue
            for case, seconds in _turn(library, ranks, sizes).items():
                seconds_of.setdefault(case, {}).setdefault(library, []).append(seconds)
    return {
        case: {name: statistics.median(times) for name, times in row.items()}
        for case, row in seconds_of.items()
    }


def distributed_text(found: dict[str, dict[str, float]]) -> str:
    """Return a table of times and of ratios."""
    lines = [
        "| | tt on gloo | its guard | tt on MPI | PyTorch on gloo | mpi4py | gloo / PyTorch | MPI / PyTorch |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for case, row in found.items():
        own, bare, torch = row.get(GLOO), row.get(UNGUARDED), row.get("torch")
        guard = f"{100 * (own / bare - 1):+.0f} %" if own and bare else "-"
        ratios = [f"{row[name] / torch:.2f}" if torch and name in row else "-" for name in (GLOO, MPI)]
        times = [_time(row.get(name)) for name in (MPI, "torch", "mpi4py")]
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
    parser.add_argument("--one-rank", action="store_true", help="what DDP costs without other ranks")
    parser.add_argument("--schemes", action="store_true", help="DDP, ZeRO and FSDP, measured and predicted")
    parser.add_argument("--overlap", action="store_true", help="FSDP, and FSDP that waits for averages")
    options = parser.parse_args(arguments)
    of_mpi = ("mpi4py",) if options.schemes or options.overlap else ()
    missing = [name for name in ("tt", *of_mpi) if find_spec(name) is None]
    if missing:
        parser.error(
            f"not installed: {', '.join(missing)}\n  try: pip install -e '.[mpi]', and its interpreter"
        )
    if options.one_rank:
        print(one_rank_text(measure_one_rank(options.rounds)))
        return 0
    if options.schemes:
        print(schemes_text(measure_schemes(options.rounds)))
        return 0
    if options.overlap:
        print(overlap_text(measure_overlap(options.rounds, options.ranks)))
        return 0
    medians = measure_all(options.ranks, options.rounds, options.cases.split(","))
    print(distributed_text(medians))
    if options.json:
        options.json.write_text(json.dumps(medians, indent=1), encoding="utf-8")
    return 0


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _turn(library: str, ranks: int, cases: Sequence[str], bandwidth: float = 0.0) -> dict[str, float]:
    """Start the ranks of one library, and return what rank 0 has measured."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        variables["TT_DISTRIBUTED_GUARD"] = "0" if library == UNGUARDED else "1"
        variables[BANDWIDTH] = str(bandwidth)
        command = [sys.executable, "-m", "benchmarks.distributed", "--rank", library]
        started = [
            subprocess.Popen([*command, str(rank), str(ranks), folder, *cases], env=variables)
            for rank in range(ranks)
        ]
        failed = [process.wait() for process in started]
        if any(failed):
            raise RuntimeError(f"a rank of {library} failed")
        medians: dict[str, float] = json.loads(Path(folder, "found").read_text(encoding="utf-8"))
        return medians


def _be_rank(library: str, rank: int, size: int, folder: Path, cases: Sequence[str]) -> None:
    find, meet, leave = (_of_mpi if library == "mpi4py" else _of_framework)(library, rank, size, folder)
    runs = {case: run for case in cases if (run := find(case)) is not None}
    medians = _medians(runs, meet)
    if rank == 0:
        Path(folder, "found").write_text(json.dumps(medians), encoding="utf-8")
    leave()


def _medians(runs: dict[str, Callable[[], object]], meet: Callable[[], object]) -> dict[str, float]:
    """Return the median seconds of calls that start together on all ranks; they take turns, as noise comes and goes."""
    times: dict[str, list[float]] = {case: [] for case in runs}
    for _ in range(CALLS):
        for case, run in runs.items():
            meet()
            begin = time.perf_counter()
            run()
            times[case].append(time.perf_counter() - begin)
    return {case: statistics.median(samples[CALLS // 5 :]) for case, samples in times.items()}


def _of_framework(library: str, rank: int, size: int, folder: Path) -> Any:
    name = library.split()[0]
    lib: Any = importlib.import_module(name)
    dist: Any = importlib.import_module(f"{name}.distributed")
    store = dist.FileStore(str(folder / "store"), size)
    engine = "mpi" if library == MPI else "gloo"
    if bandwidth := float(os.environ.get(BANDWIDTH, "0")):
        engine = slow_engine(bandwidth)
    dist.init_process_group(engine, store=store, rank=rank, world_size=size)

    def find(case: str) -> Callable[[], object]:
        if case in SIZES:
            tensor = lib.zeros(SIZES[case])
            return lambda: dist.all_reduce(tensor)
        if case == COPYING:
            source, target = lib.zeros(SIZES["25 MB"]), lib.zeros(SIZES["25 MB"])
            return lambda: target.copy_(source)
        return _step(lib, "DDP" if case == STEP else case, optimizes=case != STEP)

    return find, dist.barrier, dist.destroy_process_group


def _model(lib: Any) -> Any:
    layers = (layer for _ in range(LAYERS) for layer in (lib.nn.Linear(WIDTH, WIDTH), lib.nn.ReLU()))
    return lib.nn.Sequential(*layers)


def _step(lib: Any, scheme: str, optimizes: bool) -> Callable[[], object]:
    """Return a step of a model of 10 million parameters that is divided by a scheme."""
    model = parallel = _model(lib)
    if scheme in ("DDP", "ZeRO"):
        parallel = lib.nn.parallel.DistributedDataParallel(model)
    elif scheme in ("FSDP", WAITING):
        sharding = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
        for layer in model[::2]:
            sharding.fully_shard(layer)
        sharding.fully_shard(model)
        if scheme == WAITING:
            model._shards.run.under_way.limit = 0
    optimizer = lib.optim.SGD(model.parameters(), lr=0.0) if optimizes else None
    if scheme == "ZeRO":
        optimizers = importlib.import_module(f"{lib.__name__}.distributed.optim")
        optimizer = optimizers.ZeroRedundancyOptimizer(model.parameters(), lib.optim.SGD, lr=0.0)
    x = lib.ones(32, WIDTH)

    def step() -> None:
        model.zero_grad()
        parallel(x).sum().backward()
        if optimizer is not None:
            optimizer.step()

    return step


def _of_mpi(library: str, rank: int, size: int, folder: Path) -> Any:
    # Started as tt starts it, so that nothing but the calls differs.
    import numpy as np

    import tt.distributed as dist

    store = dist.FileStore(str(folder / "store"), size)
    dist.init_process_group("mpi", store=store, rank=rank, world_size=size)
    mpi = importlib.import_module("mpi4py.MPI")
    world = mpi.COMM_WORLD

    def find(case: str) -> Callable[[], object] | None:
        if case not in SIZES:
            return None
        array = np.zeros(SIZES[case], np.float32)
        return lambda: world.Allreduce(mpi.IN_PLACE, array)

    return find, world.Barrier, dist.destroy_process_group


# --- costs, measured and predicted ------------------------------------------------------------------------------------


def measure_one_rank(rounds: int) -> dict[str, float]:
    """Return the median seconds of a step alone and with DistributedDataParallel; they take turns in one process."""
    import tt
    import tt.distributed as dist

    dist.init_process_group("threads", store=dist.HashStore(), rank=0, world_size=1)
    try:
        steps = {name: _step(tt, name, optimizes=False) for name in (COMPUTING, "DDP")}
        times: dict[str, list[float]] = {name: [] for name in steps}
        for turn in range(CALLS * rounds):
            for name in steps if turn % 2 else reversed(steps):
                begin = time.perf_counter()
                steps[name]()
                times[name].append(time.perf_counter() - begin)
    finally:
        dist.destroy_process_group()
    return {name: statistics.median(samples[CALLS // 5 :]) for name, samples in times.items()}


def one_rank_text(found: dict[str, float]) -> str:
    """Return a line that compares a step alone with one on one rank."""
    alone, parallel = found[COMPUTING], found["DDP"]
    return (
        f"A step of 10 M parameters takes {_time(alone)} alone, and {_time(parallel)} with DistributedDataParallel on "
        f"one rank: {100 * (parallel / alone - 1):+.1f} %"
    )


def measure_schemes(rounds: int, sizes: Sequence[int] = (1, 2, 4)) -> dict[int, dict[str, float]]:
    """Return seconds by the number of ranks and the case, of the round in which it was fastest: noise only adds."""
    seconds_of: dict[int, dict[str, list[float]]] = {size: {} for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            for case, seconds in _turn(MPI, size, ("1 KB", "25 MB", COPYING, COMPUTING, *SCHEMES)).items():
                seconds_of[size].setdefault(case, []).append(seconds)
    return {size: {case: min(times) for case, times in row.items()} for size, row in seconds_of.items()}


def schemes_text(found: dict[int, dict[str, float]]) -> str:
    """Return a table of measured times, each with the model's prediction.

    The model gets four measured numbers for each number of ranks: a step without communication and a copy of 25 MB, on
    all of them at once, and `all_reduce` of 1 KB and of 25 MB, which give a collective's latency and the bandwidth.
    """
    lines = [
        "| ranks | computing | " + " | ".join(f"{scheme} | predicted" for scheme in SCHEMES) + " |",
        "|---:|---:|" + "---:|---:|" * len(SCHEMES),
    ]
    layer = 4.0 * WIDTH * (WIDTH + 1)
    for size, row in found.items():
        cells = [str(size), _time(row[COMPUTING])]
        for scheme in SCHEMES:
            predicted = row[COMPUTING]
            predicted += copied(scheme, LAYERS * layer, size) / (4.0 * SIZES["25 MB"]) * row[COPYING]
            for operation in operations(scheme, [layer] * LAYERS, size):
                sent = traffic(Operation("all_reduce", 4.0 * SIZES["25 MB"]), size)
                bandwidth = sent / (row["25 MB"] - row["1 KB"])
                predicted += row["1 KB"] + traffic(operation, size) / bandwidth
            cells += [_time(row[scheme]), _time(predicted)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measure_overlap(rounds: int, ranks: int) -> dict[str, dict[str, float]]:
    """Return seconds of a step by network and by whether it waits, of the round in which it was fastest."""
    seconds_of: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for network, bandwidth in NETWORKS.items():
            for case, seconds in _turn(MPI, ranks, ("FSDP", WAITING), bandwidth).items():
                seconds_of.setdefault(network, {}).setdefault(case, []).append(seconds)
    return {network: {case: min(times) for case, times in row.items()} for network, row in seconds_of.items()}


def overlap_text(found: dict[str, dict[str, float]]) -> str:
    """Return a table of times and of their ratio."""
    lines = ["| network | FSDP that waits | FSDP | ratio |", "|---|---:|---:|---:|"]
    for network, row in found.items():
        ratio = row["FSDP"] / row[WAITING]
        lines.append(f"| {network} | {_time(row[WAITING])} | {_time(row['FSDP'])} | {ratio:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
