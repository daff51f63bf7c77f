"""The cost of a process before its work: `import tt` beyond `import numpy`, the first training step, commands.

Imports are timed by the clock, and what follows them in processor time, the least of several processes: other
programs disturb it less, and only upwards.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass

__all__ = ["ColdStart", "ImportTime", "Reached", "cold_text", "import_text", "measure_cold", "measure_import"]

TIMED = """
import time
start = time.perf_counter()
{statements}
print(time.perf_counter() - start)
"""
STATEMENTS = ("import numpy", "import tt", "import tt; tt.float32")
LISTED = """
import json, sys
import tt
tt.float32
print(json.dumps(sorted(sys.modules)))
"""
FURTHER = ("sinh", "atan", "expm1", "log2", "floor", "sign", "maximum", "hypot", "copysign", "prod", "amin")
"""Operators of families that the step uses, none of which it calls."""
STEP = f"""
import json, sys, time
import numpy
before, modules, rows = time.process_time(), len(sys.modules), []
def reached(name):
    rows.append((name, (time.process_time() - before) * 1e3, len(sys.modules) - modules))
import tt
tt.float32
reached("import tt")
x = tt.ones(4, 8)
reached("first tensor")
model = tt.nn.Sequential(tt.nn.Linear(8, 16), tt.nn.ReLU(), tt.nn.Linear(16, 3))
y = model(x)
reached("first forward")
tt.nn.functional.cross_entropy(y, tt.tensor([0, 1, 2, 0])).backward()
reached("first backward")
tt.exp(x), tt.atan2(x, x), tt.amax(x)
calls = {{}}
for name in {FURTHER!r}:
    function, given = getattr(tt, name), (x, x) if name in ("maximum", "hypot", "copysign") else (x,)
    start = time.process_time()
    function(*given)
    calls[name] = (time.process_time() - start) * 1e6
print(json.dumps([rows, calls]))
"""
COMMANDS = ("--help", "ops list", "ops explain add cpu:float32 cpu:int64")
ON_DEMAND = ("pluggy", "yaml", "typer", "click", "rich", "scipy", "cupy", "torch", "pytest")
"""Distributions that tt may import when it needs them, but not at import."""


@dataclass(frozen=True, slots=True)
class ImportTime:
    """Median import times in milliseconds, and modules that were imported without need.

    Attributes
    ----------
    numpy : float
        NumPy's.
    alone : float
        That of `import tt`, which imports neither NumPy nor dtypes.
    tt : float
        The same with the first use of a dtype, which does.
    plugin_modules, on_demand_modules : list of str
        What should have waited.
    tt_modules : int
        How many modules of tt there are then.
    """

    numpy: float
    alone: float
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


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a process has come: processor time in milliseconds, and modules, both beyond NumPy's import."""

    name: str
    milliseconds: float
    modules: int


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The costs of the first step, further operators and commands, in processor time.

    Attributes
    ----------
    steps : list of Reached
        The parts of a first training step, in order; each includes those before it.
    further : float
        The median first call of an operator whose family is loaded, in microseconds.
    commands : dict
        Arguments of the command `tt` -> milliseconds, with the start of Python.
    """

    steps: list[Reached]
    further: float
    commands: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        """Return the numbers for JSON."""
        return asdict(self)


def run(*words: str) -> str:
    """Run a fresh interpreter and return its output.

    The interpreter keeps compiled bytecode, as installed programs do, even where this one was told not to.
    """
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return done.stdout


def measure_import(rounds: int = 21) -> ImportTime:
    """Time the imports in turns, each in a fresh interpreter; the first round, which fills caches, is dropped."""
    times: dict[str, list[float]] = {statements: [] for statements in STATEMENTS}
    for number in range(rounds + 1):
        for statements, samples in times.items():
            elapsed = float(run("-c", TIMED.format(statements=statements)))
            if number:
                samples.append(elapsed)
    modules = json.loads(run("-c", LISTED))
    numpy, alone, tt = (statistics.median(samples) * 1e3 for samples in times.values())
    return ImportTime(
        numpy=numpy,
        alone=alone,
        tt=tt,
        plugin_modules=[name for name in modules if name.startswith(("tt.plugins.", "tt.backends."))],
        on_demand_modules=[name for name in modules if name in ON_DEMAND],
        tt_modules=sum(name.split(".")[0] == "tt" for name in modules),
    )


def measure_cold(rounds: int = 15) -> ColdStart:
    """Run the first step and each command in fresh interpreters; the first round, which fills caches, is dropped."""
    steps: dict[str, list[Reached]] = {}
    calls: dict[str, list[float]] = {}
    commands: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        rows, first_calls = json.loads(run("-c", STEP))
        taken = {command: processor_time("-m", "tt", *command.split()) for command in COMMANDS}
        if number:
            for row in rows:
                steps.setdefault(row[0], []).append(Reached(*row))
            for samples, values in ((calls, first_calls), (commands, taken)):
                for name, value in values.items():
                    samples.setdefault(name, []).append(value)
    return ColdStart(
        steps=[min(samples, key=lambda reached: reached.milliseconds) for samples in steps.values()],
        further=statistics.median(map(min, calls.values())),
        commands={name: min(samples) for name, samples in commands.items()},
    )


def processor_time(*words: str) -> float:
    """Return the processor time of a fresh interpreter, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3


def import_text(result: ImportTime) -> str:
    """Return what importing costs."""
    from benchmarks.report import aligned, number

    rows = [
        ["import", "ms"],
        ["import numpy", number(result.numpy)],
        ["import tt", number(result.alone)],
        ["import tt, first dtype", number(result.tt)],
        ["more than NumPy", number(result.difference)],
    ]
    lines = [
        aligned(rows),
        f"modules of tt: {result.tt_modules}",
        f"modules of plugins and backends: {', '.join(result.plugin_modules) or 'none'}",
        f"modules that should wait until they are needed: {', '.join(result.on_demand_modules) or 'none'}",
    ]
    return "\n".join(lines)


def cold_text(result: ColdStart) -> str:
    """Return the costs of the first step and of commands."""
    from benchmarks.report import aligned, number

    steps = [["first step, beyond NumPy", "ms", "modules"]]
    steps += [[step.name, number(step.milliseconds), str(step.modules)] for step in result.steps]
    commands = [["command", "ms"], *([f"tt {name}", number(ms)] for name, ms in result.commands.items())]
    further = f"first call of a further operator of a loaded family: {number(result.further)} us"
    return "\n".join([aligned(steps), further, aligned(commands)])


if __name__ == "__main__":
    print(import_text(measure_import()))
    print(cold_text(measure_cold()))
