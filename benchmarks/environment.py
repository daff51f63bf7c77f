"""The environment of the benchmarks: versions, processor, date, and the form of tt."""

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

    `compiled`: hot modules and native kernels; `hot`: the hot modules only; `native`: the kernels only; `interpreted`:
    neither.
    """
    from tt.backends.cpu.native import loading
    from tt.core import compiled

    hot, native = compiled.status(), loading.status()
    forms = {
        (True, True): "compiled",
        (True, False): "hot",
        (False, True): "native",
        (False, False): "interpreted",
    }
    return forms[hot.active, native.active], f"hot modules: {hot.reason}; native kernels: {native.reason}"


def environment(
    libraries: Sequence[str], threads: int, *, busy: bool = False, level: str | None = None
) -> dict[str, str]:
    """Return the conditions of the measurements."""
    facts = {
        "date": datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "instruction set": level or "the best of the processor",
        "threads": str(threads),
        "clock": "the processor's time of the calling thread" if busy else "the time that passes",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    facts |= {library: version(library) for library in libraries}
    if "tt" in facts:
        facts["form"], facts["form in detail"] = form_of_tt()
    return facts


def commit() -> str:
    """Return the commit that is measured, and whether files differ from it, other than the reports of a run."""
    try:
        name = git("rev-parse", "--short=8", "HEAD")
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)benchmarks/results"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name


def git(*words: str) -> str:
    """Return what git prints in the repository of this file."""
    done = subprocess.run(
        ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def processor() -> str:
    """Return the name of the processor, as far as the platform reports it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
