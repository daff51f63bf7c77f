"""What training on several ranks costs, on paper: `python -m benchmarks.distributed_model` prints it for many GPUs.

Collectives are rings or trees of messages, and a message of n bytes takes ``latency + n / bandwidth`` seconds.  The
bytes of each way to divide a model are compared with what ranks really send in the tests, and the times with measured
ones by `python -m benchmarks.distributed --schemes`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final

__all__ = [
    "SCHEMES", "Cluster", "Link", "Operation", "Training", "copied", "main", "memory", "operations", "ring",
    "seconds_of_step", "smallest_bucket", "traffic", "tree",
]  # fmt: skip

SCHEMES: Final = ("DDP", "ZeRO", "FSDP")
BUCKET: Final = 25 << 20


@dataclass(frozen=True)
class Link:
    """What joins two neighbours: seconds that a message takes at least, and bytes a second in each direction."""

    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Operation:
    """A collective of a step; for ``all_gather`` and ``reduce_scatter`` the bytes are those of the whole tensor."""

    name: str
    bytes: float


def traffic(operation: Operation, ranks: int) -> float:
    """Return how many bytes a rank sends: the least that is possible, which rings reach.

    Of a broadcast it is the average over ranks, of whom the last passes nothing on.
    """
    share = (ranks - 1) / ranks
    return operation.bytes * share * (2 if operation.name == "all_reduce" else 1)


def ring(operation: Operation, ranks: int, link: Link) -> float:
    """Return the seconds of a collective in a ring: the fewest bytes, and a message for each rank."""
    rounds = (ranks - 1) * (2 if operation.name == "all_reduce" else 1)
    return rounds * link.latency + traffic(operation, ranks) / link.bandwidth


def tree(operation: Operation, ranks: int, link: Link) -> float:
    """Return the seconds of a collective whose rounds double the distance: few messages, and the bytes of a ring."""
    rounds = math.ceil(math.log2(ranks)) * (2 if operation.name == "all_reduce" else 1)
    return rounds * link.latency + traffic(operation, ranks) / link.bandwidth


def operations(
    scheme: str, layers: list[float], ranks: int, bucket: float = BUCKET, first: float = 1 << 20
) -> list[Operation]:
    """Return the collectives of a training step.

    Parameters
    ----------
    scheme : str
        ``DDP``, ``ZeRO`` (with DDP), ``FSDP``.
    layers : list of float
        The bytes of the parameters of each layer, in the order of forward; gradients have as many.
    ranks : int
        How many ranks.
    bucket, first : float
        The bytes of gradients that are sent together; the first bucket, of the last layers, is smaller.
    """
    if ranks == 1:
        return []
    if scheme == "FSDP":
        gathered = [Operation("all_gather", size) for size in (*layers, *reversed(layers))]
        return gathered + [Operation("reduce_scatter", size) for size in reversed(layers)]
    buckets = [0.0]
    for size in reversed(layers):
        if buckets[-1] >= (first if len(buckets) == 1 else bucket):
            buckets.append(0.0)
        buckets[-1] += size
    sequence = [Operation("all_reduce", size) for size in buckets]
    if scheme == "ZeRO":
        sequence += [Operation("broadcast", sum(layers) / ranks)] * ranks
    return sequence


def copied(scheme: str, size: float, ranks: int) -> float:
    """Return the bytes that a rank of tt copies in its own memory in a step, in addition to the engine's.

    DDP copies gradients into buckets and out of them, ZeRO parameters into messages and out of them as well.  FSDP puts
    the pieces that it gathers together, twice, and lays out and divides the gradients; its own part goes into messages
    and through the engine.

    Parameters
    ----------
    scheme : str
        As of `operations`.
    size : float
        The bytes of all parameters.
    ranks : int
        How many ranks.
    """
    if scheme == "FSDP":
        return size * (4 + 5 / ranks)
    return 0.0 if ranks == 1 else size * (4 if scheme == "ZeRO" else 2)


def memory(scheme: str, parameters: float, ranks: int) -> float:
    """Return the bytes of parameters, gradients and AdamW's state in mixed precision on a rank.

    A parameter has two bytes, its gradient two, and the optimizer twelve: a copy in float32 and two averages.
    """
    if scheme == "FSDP":
        return 16 * parameters / ranks
    return parameters * (4 + 12 / (ranks if scheme == "ZeRO" else 1))


@dataclass(frozen=True)
class Cluster:
    """GPUs in machines.  Rings pass through all of them, so the slowest link on the way counts."""

    gpus_of_machine: int = 8
    inside: Link = Link(3e-6, 370e9)
    between: Link = Link(8e-6, 45e9)
    operations_of_gpu: float = 4e14
    """A second; what training reaches, 40 % of a peak of 989e12."""
    bytes_of_gpu: float = 80e9

    def link(self, ranks: int) -> Link:
        """Return what joins neighbours of a ring."""
        return self.inside if ranks <= self.gpus_of_machine else self.between


@dataclass(frozen=True)
class Training:
    """A transformer that is trained: 6 operations a parameter and token, a third of them in forward."""

    parameters: float
    layers: int
    tokens: float
    """Of each GPU in a step."""

    def sizes(self) -> list[float]:
        """Return the bytes of the layers' parameters."""
        return [2 * self.parameters / self.layers] * self.layers


def seconds_of_step(
    scheme: str,
    training: Training,
    ranks: int,
    cluster: Cluster,
    algorithm: str = "tree",
    bucket: float = BUCKET,
) -> tuple[float, float, float]:
    """Return the seconds of computing, of communication, and of that part of it which computing does not hide.

    DDP hides all that fits next to backward, but for the last bucket.  FSDP hides gathering behind forward and
    backward, but for the first layer, and the sums of gradients behind backward, but for the last.  (tt does not hide
    these yet.)
    ZeRO's broadcasts come after the optimizer's step, and wait.
    """
    forward = 2 * training.parameters * training.tokens / cluster.operations_of_gpu
    backward = 2 * forward
    link, way = cluster.link(ranks), ring if algorithm == "ring" else tree
    times: dict[str, list[float]] = {}
    for operation in operations(scheme, training.sizes(), ranks, bucket, min(bucket, 1 << 20)):
        times.setdefault(operation.name, []).append(way(operation, ranks, link))
    total = sum(map(sum, times.values()))
    if scheme == "FSDP":
        gathered, reduced = times.get("all_gather", []), times.get("reduce_scatter", [])
        half, first, last = sum(gathered) / 2, sum(gathered[:1]), sum(reduced[-1:])
        waits = first + max(0.0, half - first - forward)
        waits += last + max(0.0, half + sum(reduced) - last - backward)
    else:
        reduced = times.get("all_reduce", [])
        last = sum(reduced[-1:])
        waits = max(0.0, sum(reduced) - last - backward) + last + sum(times.get("broadcast", []))
    return forward + backward, total, waits


def smallest_bucket(ranks: int, link: Link, algorithm: str = "ring", share: float = 0.1) -> float:
    """Return the bytes of an `all_reduce` of which the messages' latencies are at most this share."""
    rounds = 2 * (ranks - 1) if algorithm == "ring" else 2 * math.ceil(math.log2(ranks))
    latencies = rounds * link.latency
    return latencies * (1 - share) / share * link.bandwidth * ranks / (2 * (ranks - 1))


def main() -> int:
    """Print the model's figures for 8 to 4,096 GPUs."""
    cluster = Cluster()
    for title, training in (
        ("1.3 billion parameters", Training(1.3e9, 24, 16_384)),
        ("7 billion parameters", Training(7e9, 32, 8_192)),
    ):
        print(f"\n{title}, {training.tokens:,} tokens a GPU and step\n")
        print("| GPUs | " + " | ".join(f"{s}: GB, waits" for s in SCHEMES) + " | DDP in a ring |")
        print("|---:|" + "---:|" * (len(SCHEMES) + 1))
        for ranks in (8, 64, 512, 4096):
            cells = []
            for scheme, algorithm in (*((s, "tree") for s in SCHEMES), ("DDP", "ring")):
                computing, _, waits = seconds_of_step(scheme, training, ranks, cluster, algorithm)
                held = memory(scheme, training.parameters, ranks) / 1e9
                fits = "" if held * 1e9 < 0.7 * cluster.bytes_of_gpu else " (too much)"
                text = f"{100 * waits / (computing + waits):.0f} %"
                cells.append(text if algorithm == "ring" else f"{held:.1f}{fits}, {text}")
            print(f"| {ranks:,} | {' | '.join(cells)} |")
    print("\nThe smallest bucket whose latencies are a tenth of its time:\n")
    print("| GPUs | ring | tree |\n|---:|---:|---:|")
    for ranks in (8, 64, 512, 4096):
        sizes = [smallest_bucket(ranks, cluster.link(ranks), way) / 1e6 for way in ("ring", "tree")]
        print(f"| {ranks:,} | {sizes[0]:,.0f} MB | {sizes[1]:,.1f} MB |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
