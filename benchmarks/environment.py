"""On what the benchmarks ran: versions, processor, date, and which form of tt."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.libraries import version

__all__ = ["environment", "form_of_tt"]


def form_of_tt() -> tuple[str, str]:
    """Return which form of tt is measured, and the details.

    `compiled`: the hot modules, and the native kernels if they are built; `native`: these only; `interpreted`: neither.
    """
    from tt.core import compiled

    status = compiled.status()
    families = native_kernels()
    kernels = f"native kernels: {', '.join(families)}" if families else "no native kernels"
    form = "compiled" if status.active else "native" if families else "interpreted"
    return form, f"hot modules: {status.reason}; {kernels}"


def native_kernels() -> list[str]:
    """Return the families of native kernels that are built."""
    from importlib.machinery import EXTENSION_SUFFIXES

    import tt

    folder = Path(tt.__file__).parent / "backends" / "cpu" / "native"
    return sorted(path.name.split(".")[0].lstrip("_") for path in folder.glob(f"_*{EXTENSION_SUFFIXES[0]}"))


def environment(libraries: Sequence[str], threads: int) -> dict[str, str]:
    """Return what a reader of the numbers must know."""
    facts = {
        "date": datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "threads": str(threads),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    facts |= {library: version(library) for library in libraries}
    if "tt" in facts:
        facts["form"], facts["form in detail"] = form_of_tt()
    return facts


def commit() -> str:
    """Return the commit that is measured, and whether files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def processor() -> str:
    """Return the name of the processor, as far as the platform tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
