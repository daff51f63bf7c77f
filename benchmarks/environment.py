"""On what the benchmarks ran: versions, processor, and whether tt is compiled."""

from __future__ import annotations

import os
import platform
from importlib import metadata, util
from pathlib import Path

from benchmarks.cases import LIBRARIES

__all__ = ["environment", "installed"]

DISTRIBUTIONS = {"tt": "tt-tensor", "numpy": "numpy", "torch": "torch"}


def installed() -> list[str]:
    """Return the libraries that can be measured here."""
    return [library for library in LIBRARIES if util.find_spec(library) is not None]


def environment() -> dict[str, str]:
    """Return what a reader of the numbers must know."""
    facts = {"python": platform.python_version(), "processor": processor(), "cores": str(os.cpu_count())}
    facts["threads"] = os.environ.get("OMP_NUM_THREADS", "as many as the libraries take")
    for library in installed():
        facts[library] = version(DISTRIBUTIONS[library])
    if "tt" in facts:
        from tt.core import compiled

        status = compiled.status()
        facts["tt form"] = f"{'compiled' if status.active else 'interpreted'} ({status.reason})"
    return facts


def version(distribution: str) -> str:
    """Return the version of a distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed as a distribution"


def processor() -> str:
    """Return the name of the processor, as far as the platform tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
