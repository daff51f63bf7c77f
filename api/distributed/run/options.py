"""The options of `tt run`: torchrun's, with dashes or underscores, or from variables PET_NAME."""

from __future__ import annotations

import argparse
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

__all__ = ["Options", "parse_args"]

FLAGS: Final = ("standalone", "module", "no_python", "run_path")
STREAMS: Final = {"0": frozenset[str](), "1": frozenset({"out"}), "2": frozenset({"err"})}
Std = frozenset[str]
ENDING: Final = """\
Every option may be set by a variable: PET_NPROC_PER_NODE=4 is --nproc-per-node=4.

  Examples:

  tt run --nproc-per-node=4 train.py --epochs 3

  tt run --nnodes=2 --node-rank=1 --master-addr=alpha --nproc-per-node=gpu -m package.train
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    min_nodes: int
    max_nodes: int
    nproc: int
    backend: str
    host: str
    port: int
    run_id: str
    conf: Mapping[str, str]
    max_restarts: int
    monitor_interval: float
    shutdown_timeout: float
    role: str
    kind: str
    program: str
    arguments: Sequence[str]
    log_dir: str | None
    redirects: Mapping[int, Std]
    tee: Mapping[int, Std]
    shown: frozenset[int] | None
    node_rank: int
    local_addr: str | None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class _Parser(argparse.ArgumentParser):
    """Reports an error without the list of all options."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n{self.prog} --help lists the options.\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = _Parser(
        "tt run",
        allow_abbrev=False,
        description="Start a program several times, as ranks that find each other by init_process_group().",
        epilog=ENDING,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def add(*names: str, **rules: Any) -> None:
        long = next(name for name in names if name.startswith("--"))
        also = long[2:].replace("-", "_")
        if also != long[2:]:
            names = (*names, f"--{also}")
        variable = os.environ.get(f"PET_{also.upper()}")
        if variable is not None:
            # A flag that is set by a variable can be switched off by 0 only.
            rules["default"] = variable != "0" if rules.get("action") == "store_true" else variable
        result.add_argument(*names, **rules)

    add("--nnodes", default="1", metavar="N|MIN:MAX", help="how many machines; a range may grow and shrink")
    add("--nproc-per-node", default="1", metavar="N|auto|cpu|gpu", help="how many workers on this machine")
    add(
        "--rdzv-backend",
        default="static",
        choices=["static", "c10d"],
        help="how agents find each other: by --node-rank, or by who comes first",
    )
    add("--rdzv-endpoint", default="", metavar="HOST[:PORT]", help="where the agents meet")
    add("--rdzv-id", default="none", metavar="NAME", help="the name of the job, the same for all agents")
    add(
        "--rdzv-conf",
        default="",
        metavar="KEY=VALUE,...",
        help="join_timeout, last_call_timeout, keep_alive (seconds)",
    )
    add("--standalone", action="store_true", help="one machine, and a port that is free")
    add("--max-restarts", default="0", metavar="N", help="how often all workers start again after a failure")
    add("--monitor-interval", default="0.1", metavar="SECONDS", help="how often workers are looked at")
    add(
        "--shutdown-timeout",
        default=None,
        metavar="SECONDS",
        help="how long workers have between SIGTERM and SIGKILL (30)",
    )
    add(
        "--start-method",
        default="spawn",
        choices=["spawn", "fork", "forkserver"],
        help="accepted as in torchrun; workers are always new processes",
    )
    add("--role", default="default", metavar="NAME", help="what the workers are, for their output and logs")
    add("-m", "--module", action="store_true", help="the program is a module, as of python -m")
    add("--no-python", action="store_true", help="the program is not Python")
    add("--run-path", action="store_true", help="the program is a Python file, given by its absolute path")
    add("--log-dir", default=None, metavar="FOLDER", help="where the output of workers is kept")
    add(
        "-r",
        "--redirects",
        default="0",
        metavar="WHAT",
        help="output to files only: 1 stdout, 2 stderr, 3 both, or by local rank: 0:1,1:3",
    )
    add(
        "-t",
        "--tee",
        default="0",
        metavar="WHAT",
        help="output to files and, with the rank in front, to here",
    )
    add("--local-ranks-filter", default="", metavar="RANKS", help="whose output is shown: 0,2")
    add("--node-rank", default="0", metavar="N", help="which machine this is (static)")
    add("--master-addr", default="127.0.0.1", metavar="HOST", help="the machine with --node-rank 0 (static)")
    add("--master-port", default=None, metavar="PORT", help="its port (static); 29500")
    add("--local-addr", default=None, metavar="HOST", help="what this machine is called in messages")
    result.add_argument("program", help="a Python file, a module (-m), or a command (--no-python)")
    result.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return result  # fmt: skip


def parse_args(words: Sequence[str] | None = None) -> Options:
    """Return the options of a command line; end the process with code 2 where it is wrong."""
    reader = parser()
    parsed = reader.parse_args(words)
    try:
        return options(parsed)
    except ValueError as error:
        reader.error(str(error))


def options(given: argparse.Namespace) -> Options:
    """Return checked options; raise ValueError for wrong ones."""
    minimum, _, maximum = given.nnodes.partition(":")
    low = whole("--nnodes", minimum, 1)
    high = whole("--nnodes", maximum, 1) if maximum else low
    if low > high:
        raise ValueError(f"--nnodes: the minimum {low} is above the maximum {high}")
    backend, endpoint, run_id = given.rdzv_backend, given.rdzv_endpoint, given.rdzv_id
    # One machine needs no agreed port: its own server takes any that is free.
    alone = backend == "static" and not endpoint and given.master_port is None and high == 1
    if given.standalone or alone:
        backend, endpoint = "c10d", "localhost:0"
        run_id = uuid.uuid4().hex[:12] if run_id == "none" else run_id
        low = high = 1
    elif backend == "static" and not endpoint:
        port = "29500" if given.master_port is None else given.master_port
        if whole("--master-port", port, 0) > 65535:
            raise ValueError(f"--master-port must be at most 65535, not {port}")
        endpoint = f"{given.master_addr}:{port}"
    elif not endpoint:
        raise ValueError("--rdzv-endpoint is missing: the host and port where the agents meet")
    if backend == "static" and low != high:
        raise ValueError(
            "--nnodes=MIN:MAX needs --rdzv-backend=c10d; with static, each machine has its --node-rank"
        )
    node_rank = whole("--node-rank", given.node_rank, 0)
    if backend == "static" and node_rank >= high:
        raise ValueError(f"--node-rank {node_rank} is not below --nnodes {high}")
    if given.no_python and given.module:
        raise ValueError("--no-python and --module exclude each other")
    if given.run_path and not os.path.isabs(given.program):
        raise ValueError("--run-path needs the absolute path of a Python file")
    host, port = address(endpoint)
    nproc = workers(given.nproc_per_node)
    shown = given.local_ranks_filter
    shutdown = given.shutdown_timeout or os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT") or "30"
    return Options(
        min_nodes=low,
        max_nodes=high,
        nproc=nproc,
        backend=backend,
        host=host,
        port=port,
        run_id=run_id,
        conf=configuration(given.rdzv_conf),
        max_restarts=whole("--max-restarts", given.max_restarts, 0),
        monitor_interval=seconds("--monitor-interval", given.monitor_interval),
        shutdown_timeout=seconds("--shutdown-timeout", shutdown),
        role=given.role,
        kind="module" if given.module else "command" if given.no_python and not given.run_path else "file",
        program=given.program,
        arguments=tuple(given.arguments),
        log_dir=given.log_dir,
        redirects=streams("--redirects", given.redirects, nproc),
        tee=streams("--tee", given.tee, nproc),
        shown=frozenset(whole("--local-ranks-filter", rank, 0) for rank in shown.split(","))
        if shown
        else None,
        node_rank=node_rank,
        local_addr=given.local_addr,
    )


def whole(name: str, text: str, least: int) -> int:
    """Return a whole number."""
    if not re.fullmatch(r"-?\d+", text) or int(text) < least:
        raise ValueError(f"{name} must be a whole number from {least}, not {text!r}")
    return int(text)


def seconds(name: str, text: str) -> float:
    """Return a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise ValueError(f"{name} must be a number of seconds, not {text!r}")
    return number


def address(endpoint: str) -> tuple[str, int]:
    """Return host and port; without a port, PyTorch's."""
    # An IPv6 address stands in brackets, for it has colons of its own.
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?", endpoint)
    if match is None or int(match[3] or 29500) > 65535:
        raise ValueError(f"--rdzv-endpoint must be HOST:PORT, not {endpoint!r}")
    return match[1] or match[2], int(match[3] or 29500)


def workers(text: str) -> int:
    """Return how many workers a machine gets."""
    if text in ("auto", "cpu", "gpu"):
        from tt import cuda  # when it is asked for: it loads the driver

        if text != "cpu" and cuda.is_available():
            return int(cuda.device_count())
        if text == "gpu":
            raise ValueError("--nproc-per-node=gpu: no GPU is available here")
        # The cores that this process may use, of which a container or Slurm may give only some.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdigit():
        raise ValueError(f"--nproc-per-node must be a number, auto, cpu or gpu, not {text!r}")
    return whole("--nproc-per-node", text, 1)


def configuration(text: str) -> Mapping[str, str]:
    """Return the pairs of --rdzv-conf."""
    result = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--rdzv-conf must be KEY=VALUE,..., not {text!r}")
        result[key.strip()] = value.strip()
    for key in {"join_timeout", "timeout", "last_call_timeout", "keep_alive"} & {*result}:
        seconds(f"--rdzv-conf: {key}", result[key])
    return result


def streams(name: str, text: str, nproc: int) -> Mapping[int, Std]:
    """Return which streams of each local rank are meant."""
    names = STREAMS | {"3": STREAMS["1"] | STREAMS["2"]}
    if text in names:
        return dict.fromkeys(range(nproc), names[text])
    result = {}
    for pair in text.split(","):
        rank, _, what = pair.partition(":")
        if not rank.isdigit() or what not in names:
            raise ValueError(f"{name} must be 0, 1, 2, 3 or RANK:NUMBER,..., not {text!r}")
        result[int(rank)] = names[what]
    return result
