"""Verifies tt on a machine with a GPU: `python -m benchmarks.cuda.verify`.

Runs the tests that need a GPU, the conformance check, stress of memory, streams and graphs, the kernels under
compute-sanitizer, and the benchmark, each as a program of its own; then it writes the record of the sources that were
verified, which is committed.  Parts that passed are not run again for the same commit on the same GPU.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.cuda.machine import NO_GPU

__all__ = ["PARTS", "Outcome", "Part", "main", "own_operators", "run_part"]

FAILED = 1
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "cuda-verify"
PYTHON = sys.executable
SANITIZER = "compute-sanitizer"
TAIL = 15
"""The number of last lines shown of a failed part."""


@dataclass(frozen=True)
class Part:
    """A part of the verification.

    Attributes
    ----------
    name, title : str
        Its name on the command line and in messages.
    command : callable
        Returns the words of its program.
    minutes : float
        After how long it counts as failed.
    lacking : callable
        Returns why it cannot be run here, or an empty string.
    recorded : bool
        Whether the record of sources needs it: a part that is skipped does not hinder, one that failed does.
    """

    name: str
    title: str
    command: Callable[[], Sequence[str]]
    minutes: float
    lacking: Callable[[], str] = lambda: ""
    recorded: bool = True


def own_operators() -> list[str]:
    """Return the operators that have a CUDA kernel of tt's own, or one over a library."""
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.kernels import kernel_tables

    tables = kernel_tables(CudaBackend())
    return sorted({kernel.op for table in tables for kernel in table.kernels if kernel.priority > 0})


def checked(*words: str) -> list[str]:
    """Return the command line that checks the results of the CUDA operators."""
    return [PYTHON, "-m", "tt.cli.main", "ops", "check", "--backend", "cuda", "--run", *words]


def sanitized(tool: str) -> list[str]:
    """Return the words that run own kernels under a tool of compute-sanitizer."""
    chosen = [word for op in own_operators() for word in ("--ops", op)]
    program = checked(*chosen, "--dtype", "float32", "--checks", "values")
    return [SANITIZER, "--tool", tool, "--error-exitcode", "9", "--target-processes", "all", *program]


def without_sanitizer() -> str:
    """Return why nothing can be run under compute-sanitizer, or an empty string."""
    return "" if shutil.which(SANITIZER) else f"{SANITIZER} is not installed; it comes with the CUDA toolkit"


PARTS = (
    Part(
        "tests",
        "tests that need a GPU",
        lambda: [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", "tests"],
        30,
    ),
    Part("conformance", "conformance of every operator", lambda: checked(), 60),
    Part("memory", "stress of memory", lambda: [PYTHON, "-m", "benchmarks.cuda.stress", "memory"], 5),
    Part("streams", "stress of streams", lambda: [PYTHON, "-m", "benchmarks.cuda.stress", "streams"], 5),
    Part("graphs", "capture and replay", lambda: [PYTHON, "-m", "benchmarks.cuda.stress", "graphs"], 5),
    Part("memcheck", "kernels under memcheck", lambda: sanitized("memcheck"), 60, without_sanitizer),
    Part("racecheck", "kernels under racecheck", lambda: sanitized("racecheck"), 60, without_sanitizer),
    Part(
        "benchmark",
        "benchmark",
        lambda: [PYTHON, "-m", "benchmarks.cuda.run", "--json", str(FOLDER / "benchmark.json")],
        60,
        recorded=False,
    ),
)


@dataclass
class Outcome:
    """The outcome of a part.

    Attributes
    ----------
    part : str
        Its name.
    state : str
        passed, failed, skipped, or kept: passed before, and not run again.
    seconds : float
        How long it took.
    detail : str
        Why it was skipped or failed.
    log : str
        Where its output is.
    """

    part: str
    state: str
    seconds: float = 0.0
    detail: str = ""
    log: str = ""


def run_part(part: Part, folder: Path) -> Outcome:
    """Run a part, its output into a file."""
    lacking = part.lacking()
    if lacking:
        return Outcome(part.name, "skipped", detail=lacking)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{part.name}.log"
    begin = time.monotonic()
    with log.open("w", encoding="utf-8") as target:
        try:
            done = subprocess.run(
                list(part.command()),
                cwd=ROOT,
                stdout=target,
                stderr=subprocess.STDOUT,
                timeout=part.minutes * 60,
            )
            code, detail = done.returncode, f"exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            code, detail = -1, f"not done after {part.minutes:g} minutes"
        except OSError as error:
            code, detail = -1, str(error)
    seconds = round(time.monotonic() - begin, 1)
    if code == 0:
        return Outcome(part.name, "passed", seconds, log=str(log))
    return Outcome(part.name, "failed", seconds, detail, str(log))


def arguments(words: list[str] | None, parts: Sequence[Part]) -> argparse.Namespace:
    """Parse the command line."""
    names = [part.name for part in parts]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cuda.verify",
        description=(__doc__ or "").split("\n\n")[1],
        epilog=f"Exit status: {FAILED} if a part fails; {NO_GPU} without a GPU, where nothing is run or written.",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="PART",
        help=f"only this part; may be given several times: {', '.join(names)}",
    )
    parser.add_argument(
        "--again", action="store_true", help="run parts again that passed for this commit and GPU"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the parts and their programs, and run nothing"
    )
    parser.add_argument(
        "--status", action="store_true", help="tell which sources were verified where, and run nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome here, too")
    options = parser.parse_args(words)
    for name in options.only or ():
        if name not in names:
            parser.error(f"no part is named {name!r}; there are: {', '.join(names)}")
    return options


def main(words: list[str] | None = None, parts: Sequence[Part] = PARTS, folder: Path = FOLDER) -> int:
    """Run the command line."""
    options = arguments(words, parts)
    from benchmarks.cuda import machine, record

    if options.status:
        print("\n".join(f"{name}: {state}" for name, state in record.standing().items()))
        return 0
    if options.list:
        print("\n".join(f"{part.name}: {part.title}: {shown(part.command())}" for part in parts))
        return 0
    reason = machine.problem()
    if reason is not None:
        print(f"nothing is verified: {reason}", file=sys.stderr)
        return NO_GPU
    facts = machine.facts()
    print("\n".join(f"{name}: {value}" for name, value in facts.items()), flush=True)
    chosen = [part for part in parts if part.name in (options.only or [p.name for p in parts])]
    outcomes = verified(chosen, folder, facts, again=options.again)
    good = not any(outcome.state == "failed" for outcome in outcomes.values())
    written = conclude(parts, folder, facts)
    if options.json:
        data = {
            "ok": good, "environment": facts, "record": written,
            "parts": [asdict(outcome) for outcome in outcomes.values()],
        }  # fmt: skip
        options.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if good else FAILED


def shown(words: Sequence[str]) -> str:
    """Return the words of a program, shortened where it names many operators."""
    text = " ".join("python" if word == PYTHON else word for word in words)
    return text if len(text) < 200 else f"{text[:160]} ... {' '.join(words[-4:])}"


def identity(facts: dict[str, str]) -> str:
    """Return for what an outcome holds: the commit and the GPU."""
    return f"{facts['commit']} on {facts.get('gpu', '')}"


def known_outcomes(folder: Path, facts: dict[str, str]) -> dict[str, Outcome]:
    """Return the outcomes of earlier runs for this commit and GPU; a commit with changes is never the same."""
    file = folder / "state.json"
    if not file.exists() or "dirty" in facts["commit"]:
        return {}
    state = json.loads(file.read_text(encoding="utf-8"))
    if state["of"] != identity(facts):
        return {}
    return {name: Outcome(**outcome) for name, outcome in state["parts"].items()}


def verified(
    parts: Sequence[Part], folder: Path, facts: dict[str, str], *, again: bool
) -> dict[str, Outcome]:
    """Run parts and keep what came out after each, so that an interrupted run continues where it stopped."""
    from tt.cli.output import progress

    known = known_outcomes(folder, facts)
    outcomes: dict[str, Outcome] = {}
    with progress("Verification", len(parts)) as step:
        for done, part in enumerate(parts):
            step(done, part.title)
            before = known.get(part.name)
            if before is not None and before.state in ("passed", "kept") and not again:
                outcome = Outcome(part.name, "kept", before.seconds, "passed before", before.log)
            else:
                outcome = run_part(part, folder)
            known[part.name] = outcomes[part.name] = outcome
            folder.mkdir(parents=True, exist_ok=True)
            state = {"of": identity(facts), "parts": {name: asdict(one) for name, one in known.items()}}
            (folder / "state.json").write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
            print(line_of(outcome), flush=True)
        step(len(parts), "")
    return outcomes


def line_of(outcome: Outcome) -> str:
    """Return an outcome in words, with the end of the output of a part that failed."""
    text = f"{outcome.part}: {outcome.state}"
    text += f" in {outcome.seconds:g} s" if outcome.state in ("passed", "failed") else ""
    text += f": {outcome.detail}" if outcome.detail else ""
    if outcome.state == "failed" and outcome.log:
        lines = Path(outcome.log).read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
        text += "".join(f"\n    {line}" for line in lines) + f"\n  all of it: {outcome.log}"
    return text


def conclude(parts: Sequence[Part], folder: Path, facts: dict[str, str]) -> dict[str, Any] | None:
    """Write the record if all parts that it needs have passed or cannot run here; otherwise print the missing parts."""
    from benchmarks.cuda import record

    known = known_outcomes(folder, facts)
    needed = [part for part in parts if part.recorded]
    skipped = [p.name for p in needed if p.name in known and known[p.name].state == "skipped"]
    open_parts = [p.name for p in needed if p.name not in known or known[p.name].state == "failed"]
    if "dirty" in facts["commit"] or facts["commit"] == "unknown":
        print(
            "the record is not written: files differ from the commit, which the record must be able to name"
        )
        return None
    if open_parts:
        print(f"the record is not written: open or failed: {', '.join(open_parts)}")
        return None
    versions = [
        f"{name} {facts[name]}" for name in ("cupy-cuda12x", "cupy-cuda13x", "driver") if name in facts
    ]
    left_out = f"; without {', '.join(skipped)}" if skipped else ""
    sources = record.write(facts["gpu"], ", ".join(versions) + left_out)
    print(f"{record.FILE.relative_to(ROOT)} names {len(sources)} sources; commit it")
    return {name: asdict(entry) for name, entry in sources.items()}


if __name__ == "__main__":
    sys.exit(main())
