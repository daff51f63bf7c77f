"""The time of `import tt` beyond `import numpy`, and the plugin modules that it imports."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass

__all__ = ["ImportTime", "import_text", "measure_import"]

TIMED = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
LISTED = """
import json, sys
import tt
print(json.dumps(sorted(sys.modules)))
"""
ON_DEMAND = ("pluggy", "yaml", "typer", "click", "rich", "scipy", "cupy", "torch", "pytest")
"""Distributions that tt may import when it needs them, but not at import."""


@dataclass(frozen=True, slots=True)
class ImportTime:
    """Median import times in milliseconds, and modules that `import tt` imported without need."""

    numpy: float
    tt: float
    plugin_modules: list[str]
    on_demand_modules: list[str]
    tt_modules: int

    @property
    def difference(self) -> float:
        """The cost of tt in addition to NumPy."""
        return self.tt - self.numpy

    def to_dict(self) -> dict[str, object]:
        """Return the numbers for JSON."""
        return {**asdict(self), "difference": self.difference}


def run(code: str) -> str:
    """Run code in a fresh interpreter and return its output.

    The interpreter keeps compiled bytecode, as installed programs do, even where this one was told not to.
    """
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def measure_import(rounds: int = 21) -> ImportTime:
    """Time both imports in turns, each in a fresh interpreter; the first round, which fills caches, is dropped."""
    times: dict[str, list[float]] = {"numpy": [], "tt": []}
    for number in range(rounds + 1):
        for module, found in times.items():
            elapsed = float(run(TIMED.format(module=module)))
            if number:
                found.append(elapsed)
    modules = json.loads(run(LISTED))
    return ImportTime(
        numpy=statistics.median(times["numpy"]) * 1e3,
        tt=statistics.median(times["tt"]) * 1e3,
        plugin_modules=[name for name in modules if name.startswith(("tt.plugins.", "tt.backends."))],
        on_demand_modules=[name for name in modules if name in ON_DEMAND],
        tt_modules=sum(name.split(".")[0] == "tt" for name in modules),
    )


def import_text(result: ImportTime) -> str:
    """Return what importing costs."""
    from benchmarks.report import aligned, number

    rows = [
        ["import", "ms"],
        ["import numpy", number(result.numpy)],
        ["import tt", number(result.tt)],
        ["difference", number(result.difference)],
    ]
    lines = [
        aligned(rows),
        f"modules of tt: {result.tt_modules}",
        f"modules of plugins and backends: {', '.join(result.plugin_modules) or 'none'}",
        f"modules that should wait until they are needed: {', '.join(result.on_demand_modules) or 'none'}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(import_text(measure_import()))
