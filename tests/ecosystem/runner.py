"""python tests/ecosystem/runner.py NAME FILE [PART ...]: run parts of one job in this process, and write their facts.

The file is written after each part, so that it says which part ended the process.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import inspect
import io
import json
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

if __name__ in ("__main__", "__mp_main__"):  # the latter in processes that a loader has spawned
    # Libraries may bring a package `tests` of their own, which would hide this one, and import modules that are named
    # as those of this folder.
    sys.path[:] = [folder for folder in sys.path if folder != str(Path(__file__).resolve().parent)]
    sys.modules["tests"] = ModuleType("tests")
    sys.modules["tests"].__path__ = [str(Path(__file__).resolve().parents[1])]

from tests.ecosystem import kit
from tests.ecosystem.facts import facts_of

__all__ = ["distribution", "main", "parts_of"]

LINES: Final = 14
"""Lines of a traceback that are kept: the last ones."""


def distribution(requirement: str) -> str:
    """Return the name of the distribution of a requirement, as `einops` of `einops==0.8.2`."""
    for separator in ("[", "=", "<", ">", "!", "~", " ", ";"):
        requirement = requirement.partition(separator)[0]
    return requirement


def parts_of(job: ModuleType) -> dict[str, Callable[[], Any]]:
    """Return the parts of a job: its public functions without arguments, in the order of the source."""
    functions = {
        name: value
        for name, value in vars(job).items()
        if inspect.isfunction(value) and value.__module__ == job.__name__ and not name.startswith("_")
    }
    return {name: value for name, value in functions.items() if not inspect.signature(value).parameters}


def _seed() -> None:
    import torch

    kit.restart()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def _run(part: Callable[[], Any]) -> dict[str, Any]:
    began = time.perf_counter()
    outcome: dict[str, Any]
    try:
        _seed()
        # What libraries print is none of the results.
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = {"facts": facts_of(part())}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit, by which programs of libraries end
        outcome = {"error": _told(error)}
    tolerance = getattr(part, kit.NAME, None)
    if tolerance is not None:
        outcome["tolerance"] = {"rtol": tolerance.rtol, "atol": tolerance.atol}
    return outcome | {"seconds": round(time.perf_counter() - began, 2)}


def _told(error: BaseException) -> str:
    """Return the end of the traceback, and in the last line the error's class and the first line of its text."""
    lines = traceback.format_exc().rstrip().splitlines()
    first = str(error).strip().partition("\n")[0]
    return "\n".join([*lines[-LINES:], f"{type(error).__name__}: {first}"])


def _versions(requirements: tuple[str, ...]) -> dict[str, str]:
    versions = {}
    for name in ("torch", *map(distribution, requirements)):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def main(name: str, file: Path, only: Sequence[str] = ()) -> None:
    """Run a job, and write the facts of each part or its error."""
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"versions": {}, "parts": {}}
    try:
        job = importlib.import_module(f"tests.ecosystem.jobs.{name}")
    except BaseException as error:
        report["error"] = _told(error)
        file.write_text(json.dumps(report))
        return
    report["versions"] = _versions(job.REQUIRES)
    parts = parts_of(job)
    for part, function in parts.items():
        if only and part not in only:
            continue
        report["parts"][part] = {"error": "the process ended in this part"}
        file.write_text(json.dumps(report))
        report["parts"][part] = _run(function)
        file.write_text(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), tuple(sys.argv[3:]))
