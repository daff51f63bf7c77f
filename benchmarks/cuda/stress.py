"""Stress of memory, streams and graphs on a GPU: `python -m benchmarks.cuda.stress [memory] [streams] [graphs]`.

Random programs whose results are known.  A fault of an allocator or of the order of work shows in a value: a
block that was reused while it was still read, work that did not wait for its inputs.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.cuda.machine import NO_GPU

__all__ = ["KINDS", "StressError", "graphs", "main", "memory", "streams"]

FAILED = 1


class StressError(AssertionError):
    """A value differs from the one that the program wrote."""


def expect(found: Any, wanted: Any, what: str) -> None:
    """Refuse a value."""
    if found != wanted:
        raise StressError(f"{what}: found {found}, and not {wanted}")


def constant(tensor: Any, value: int, what: str) -> None:
    """Refuse a tensor that holds anything but one value."""
    expect((float(tensor.min()), float(tensor.max())), (float(value), float(value)), what)


def memory(random: Random, seconds: float, most: int = 1 << 26) -> int:
    """Allocate, fill, check and free tensors of random sizes in several threads; return how many there were."""
    import tt

    problems: list[BaseException] = []
    counts: list[int] = []

    def work(seed: int) -> None:
        mine, kept, count = Random(seed), [], 0
        end = time.monotonic() + seconds
        try:
            with tt.cuda.stream(tt.cuda.Stream()):
                while time.monotonic() < end:
                    size = int(2 ** mine.uniform(0, most.bit_length() - 3))
                    value = mine.randrange(1 << 20)
                    kept.append((tt.full((size,), value, dtype=tt.float32, device="cuda"), value))
                    count += 1
                    while len(kept) > 32 or (kept and mine.random() < 0.4):
                        tensor, value = kept.pop(mine.randrange(len(kept)))
                        constant(tensor, value, f"a tensor of {tensor.numel()} elements")
                    if mine.random() < 0.01:
                        tt.cuda.empty_cache()
                for tensor, value in kept:
                    constant(tensor, value, f"a tensor of {tensor.numel()} elements")
        except BaseException as error:  # to the thread that waits
            problems.append(error)
        counts.append(count)

    threads = [threading.Thread(target=work, args=(random.randrange(1 << 30),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    tt.cuda.synchronize()
    import gc

    gc.collect()
    tt.cuda.empty_cache()
    expect(tt.cuda.memory_allocated(), 0, "bytes that are allocated when nothing is kept")
    return sum(counts)


def streams(random: Random, seconds: float, size: int = 1 << 20) -> int:
    """Pass tensors from stream to stream, with events and with wait_stream; return how often."""
    import tt

    lanes = [tt.cuda.Stream() for _ in range(4)]
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        value, x = 0, None
        before = tt.cuda.current_stream()
        for _ in range(random.randrange(2, 10)):
            lane = random.choice(lanes)
            if random.random() < 0.5:
                lane.wait_stream(before)
            else:
                lane.wait_event(before.record_event())
            with tt.cuda.stream(lane):
                step = random.randrange(1, 5)
                if x is None:
                    x = tt.zeros(size, device="cuda")
                before_x, x = x, x + step
                before_x.record_stream(lane)
                del before_x
                value += step
            before = lane
        tt.cuda.current_stream().wait_stream(before)
        constant(x, value, "a tensor that went from stream to stream")
        count += 1
    return count


def graphs(random: Random, seconds: float) -> int:
    """Capture a training step, replay it ten times, and compare with plain steps bit for bit; return how often."""
    import tt
    from benchmarks.cuda.training import TrainingStep
    from tt.cuda import CUDAGraph

    products = "cuBLASLt" in tt.explain("mm", ["cuda:float32", "cuda:float32"]).text().split("->")[-1]
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        seed, rows, width = random.randrange(1000), random.choice([8, 64]), random.choice([16, 128])
        step = TrainingStep(seed, rows, width, products=products)
        start = step.state()
        tt.manual_seed(seed)
        losses = [float(step()) for _ in range(10)]
        expected = step.state()
        step.start_from(start)
        side = tt.cuda.Stream()
        side.wait_stream(tt.cuda.current_stream())
        with tt.cuda.stream(side):
            step()
        tt.cuda.current_stream().wait_stream(side)
        graph = CUDAGraph()
        with tt.cuda.graph(graph):
            loss = step()
        step.start_from(start)
        tt.manual_seed(seed)
        replayed = []
        for _ in range(10):
            graph.replay()
            replayed.append(loss.item())
        expect(replayed, losses, "the losses of ten replayed steps")
        for i, (one, other) in enumerate(zip(step.state(), expected, strict=True)):
            if not tt.equal(one, other):
                raise StressError(f"ten replayed steps differ from ten plain ones in tensor {i} of the state")
        count += 1
    return count


KINDS: dict[str, Callable[[Random, float], int]] = {"memory": memory, "streams": streams, "graphs": graphs}


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda.stress",
        description=(__doc__ or "").split("\n\n")[1],
        epilog=f"Exit status: {FAILED} if a value is wrong; {NO_GPU} without a GPU.",
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"which: {', '.join(KINDS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=20, help="of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random programs (default: %(default)s)")
    options = parser.parse_args(words)
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"there is no {kind!r}; there are: {', '.join(KINDS)}")
    from benchmarks.cuda import machine

    reason = machine.problem()
    if reason is not None:
        print(f"nothing is tried: {reason}", file=sys.stderr)
        return NO_GPU
    failed = False
    for kind in options.kinds or KINDS:
        try:
            count = KINDS[kind](Random(options.seed), options.seconds)
            print(f"{kind}: {count} times, all right", flush=True)
        except Exception as error:  # the others are tried all the same
            failed = True
            print(
                f"{kind}: {type(error).__name__}: {error} (--seed {options.seed})",
                file=sys.stderr,
                flush=True,
            )
    return FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
