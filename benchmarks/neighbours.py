"""Two processes of tt on the same cores: `python -m benchmarks.neighbours [CASE]...`.

Threads that spin while they wait take time from other processes.  So as many processes as there are cores run a
case at the same time, in turns with one thread each and with as many threads as cores each.  On cores that are all busy
more threads cannot help; the question is how much they cost: the ratio of both throughputs should be above 0.9.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from random import Random
from typing import Any

from benchmarks.libraries import set_threads

__all__ = ["CASES", "main", "neighbours", "neighbours_text"]

CASES = (
    "exp(x)",
    "x + y",
    "x.sum()",
    "m @ n, 512x512",
    "MLP 784-256-10, batch 64, forward and backward",
    "LeNet, batch 32, forward and backward",
)
"""Frozen cases (benchmarks/cases) of operators that are worth threads, and of steps with small ones between them."""

TARGET = 0.9


def serve(library: str, name: str, connection: Connection) -> None:
    """Run a case in this process for as long and with as many threads as asked; answer calls per second."""
    import importlib

    from benchmarks.cases import find_case, make_loop

    set_number = importlib.import_module(library).set_num_threads
    loop = make_loop(find_case(name), library)
    loop(3)
    connection.send(True)
    while True:
        try:
            threads, begin, seconds = connection.recv()
        except EOFError:
            return
        set_number(threads)
        time.sleep(max(0.0, begin - time.time()))
        calls, end = 0, time.perf_counter() + seconds
        before = time.perf_counter()
        while (now := time.perf_counter()) < end:
            loop(1)
            calls += 1
        connection.send(calls / (now - before))


def neighbours(
    names: Sequence[str] = CASES,
    *,
    library: str = "tt",
    processes: int = 2,
    rounds: int = 9,
    seconds: float = 0.2,
) -> list[dict[str, Any]]:
    """Measure cases in processes side by side.

    Parameters
    ----------
    names : sequence of str
        The cases.
    library : str
        "tt" or "torch".
    processes : int
        How many run at the same time, and how many threads each has in the second kind of turn.
    rounds : int
        How many turns of each kind.
    seconds : float
        How long a turn lasts.

    Returns
    -------
    list of dict
        For each case the calls per second of one process with one thread and with several, and their ratio: the median
        over the rounds, in each of which one turn follows the other.
    """
    context = multiprocessing.get_context("spawn")
    rows = []
    for name in names:
        pipes, started = [], []
        for _ in range(processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(library, name, theirs))
            process.start()
            theirs.close()
            pipes.append(ours)
            started.append(process)
        for pipe in pipes:
            pipe.recv()
        random, rates = Random(0), {1: [], processes: []}  # type: tuple[Random, dict[int, list[float]]]
        for _ in range(rounds):
            for threads in random.sample([1, processes], 2):
                begin = time.time() + 0.02
                for pipe in pipes:
                    pipe.send((threads, begin, seconds))
                rates[threads].append(sum(pipe.recv() for pipe in pipes) / processes)
        for pipe, process in zip(pipes, started, strict=True):
            pipe.close()
            process.join()
        ratios = [many / one for one, many in zip(rates[1], rates[processes], strict=True)]
        rows.append(
            {
                "case": name,
                "one": statistics.median(rates[1]),
                "several": statistics.median(rates[processes]),
                "ratio": statistics.median(ratios),
            }
        )
    return rows


def neighbours_text(found: Sequence[dict[str, Any]], processes: int) -> str:
    """Return the results as a table."""
    from benchmarks.report import aligned, number

    head = f"{processes} processes side by side, calls per second of each"
    rows = [[head, "1 thread each", f"{processes} threads each", "ratio"]]
    for row in found:
        rows.append([row["case"], f"{row['one']:,.0f}", f"{row['several']:,.0f}", number(row["ratio"])])
    return aligned(rows)


def main(words: list[str] | None = None) -> int:
    """Run the command line; exit with 1 if a case keeps less than the target."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.neighbours", description=(__doc__ or "").split("\n\n")[1]
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help="names of frozen cases (default: six of them)"
    )
    parser.add_argument("--library", choices=("tt", "torch"), default="tt")
    parser.add_argument("--processes", type=int, default=2, help="how many (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each kind (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a turn (default: %(default)s)")
    options = parser.parse_args(words)
    set_threads(options.processes)
    rows = neighbours(
        options.cases or CASES,
        library=options.library,
        processes=options.processes,
        rounds=options.rounds,
        seconds=options.seconds,
    )
    print(neighbours_text(rows, options.processes))
    worst = min(rows, key=lambda row: row["ratio"])
    verdict = "met" if worst["ratio"] >= TARGET else "missed"
    print(f"the least: {worst['ratio']:.2f} ({worst['case']}), target {TARGET}: {verdict}")
    return 0 if worst["ratio"] >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
