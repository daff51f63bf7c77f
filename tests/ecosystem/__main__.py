"""python -m tests.ecosystem [--only NAME ...]: run PyTorch's libraries on tt, and compare with PyTorch's numbers.

A job is a module of `jobs/`: a docstring of one line ("name: what is run"), REQUIRES (what pip installs, the library
itself first), and a public function without arguments for each part, which returns numbers.  Inputs and weights come
from `kit`.  PyTorch's results are committed as small facts (`expected/<library>.json`), so that nobody needs PyTorch;
`--reference` writes them where it is installed.

    python -m tests.ecosystem --only timm              in a temporary environment, with a wheel of this checkout
    python -m tests.ecosystem --only timm --work DIR   in an environment that is kept, and is there the next time
    python -m tests.ecosystem --only timm --here       in this one, with the libraries that it has
    python -m tests.ecosystem --only timm --part vit   one part, with the whole traceback
    python -m tests.ecosystem --only timm --reference  write what PyTorch gives, here
    python -m tests.ecosystem --here --record          write results.csv and the table of docs/ecosystem.md

Ends with 1 when a job passes fewer parts than results.csv says, and when one that is not there does not pass whole.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.ecosystem import page
from tests.ecosystem.catalog import Job, jobs
from tests.ecosystem.environment import Environment, create, here
from tests.ecosystem.facts import differences
from tests.ecosystem.runner import distribution
from tests.tiers import ROOT
from tt.cli import output

RUNNER: Final = ROOT / "tests" / "ecosystem" / "runner.py"
LIMIT: Final = 900
"""Seconds that a job may take."""


class Outcome(NamedTuple):
    """What became of a job: the version of its library, what is wrong with each part (or nothing), or with all."""

    job: Job
    version: str
    problems: dict[str, str]
    problem: str = ""
    seconds: float = 0.0

    @property
    def passed(self) -> int:
        """Return how many parts are right."""
        return 0 if self.problem else sum(not problem for problem in self.problems.values())

    def row(self) -> page.Row:
        """Return the row of results.csv."""
        failed = [f"{part}: {_short(problem)}" for part, problem in self.problems.items() if problem]
        missing = _short(self.problem, 200) if self.problem else "; ".join(failed)
        parts = len(self.problems) or len(self.job.parts)
        return page.Row(self.job.name, self.version, self.passed, parts, missing)


def _short(problem: str, length: int = 120) -> str:
    line = next((line for line in reversed(problem.strip().splitlines()) if line.strip()), "").strip()
    return line if len(line) <= length else f"{line[: length - 3]}..."


def report_of(job: Job, environment: Environment, only: Sequence[str] = ()) -> dict[str, Any]:
    """Run a job in a process of its own, and return what the runner wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        command = [*environment.command, str(RUNNER), job.name, str(file), *only]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment.variables(),
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
            ended = f"{done.stderr[-2000:]}\nthe process ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = f"took more than {LIMIT} seconds"
        report: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"error": ended}
        for outcome in report.get("parts", {}).values():
            if outcome.get("error") == "the process ended in this part":
                outcome["error"] = ended
        return report


def run(job: Job, environment: Environment, only: Sequence[str] = ()) -> Outcome:
    """Run a job, and compare its parts with PyTorch's results."""
    name = distribution(job.requires[0])
    problem = environment.install(job.requires)
    if problem:
        return Outcome(job, "", {}, f"not installable: {problem}")
    report = report_of(job, environment, only)
    version = report.get("versions", {}).get(name, "")
    if "error" in report:
        return Outcome(job, version, {}, report["error"])
    if "+tt" not in report["versions"].get("torch", ""):
        return Outcome(job, version, {}, "ran on PyTorch, which has replaced the stand-in of tt")
    expected = (
        json.loads(job.expected.read_text()) if job.expected.exists() else {"versions": {}, "parts": {}}
    )
    problems = {
        part: _problem(report["parts"].get(part), expected["parts"].get(part)) for part in only or job.parts
    }
    before = expected["versions"].get(name)
    if any(problems.values()) and before not in (None, version):
        sys.stderr.write(f"{job.name}: {version} ran here, and PyTorch's results are of {before}\n")
    return Outcome(
        job,
        version,
        problems,
        seconds=sum(part["seconds"] for part in report["parts"].values() if "seconds" in part),
    )


def _problem(outcome: dict[str, Any] | None, expected: Any) -> str:
    if outcome is None:
        return "the part did not run"
    if "error" in outcome:
        return str(outcome["error"])
    if expected is None:
        return "PyTorch's results are not known: run with --reference where it is installed"
    unequal = list(differences(expected, outcome["facts"], **outcome.get("tolerance", {})))
    return "\n".join(map(str, [*unequal[1:6], *unequal[:1]]))


def write_reference(job: Job) -> list[str]:
    """Write what PyTorch gives, and return the parts that raise with it."""
    report = report_of(job, here(reference=True))
    if "+tt" in report.get("versions", {}).get("torch", ""):
        raise SystemExit("`import torch` gives tt in this environment: install PyTorch in another one")
    if "error" in report:
        return [f"{job.name}: {report['error']}"]
    facts = {part: outcome["facts"] for part, outcome in report["parts"].items() if "facts" in outcome}
    job.expected.write_text(_as_json({"versions": report["versions"], "parts": facts}))
    return [
        f"{job.name}.{part}: {outcome['error']}"
        for part, outcome in report["parts"].items()
        if "error" in outcome
    ]


def _as_json(value: Any) -> str:
    """Return JSON with a tensor a line."""

    def lines(value: Any, depth: int) -> str:
        pad = " " * depth
        if isinstance(value, dict) and value and not ({"shape", "values"} <= value.keys()):
            return (
                "{\n"
                + ",\n".join(f"{pad} {json.dumps(k)}: {lines(v, depth + 1)}" for k, v in value.items())
                + f"\n{pad}}}"
            )
        if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
            return "[\n" + ",\n".join(f"{pad} {lines(item, depth + 1)}" for item in value) + f"\n{pad}]"
        return json.dumps(value)

    return lines(value, 0) + "\n"


def _print(outcomes: Sequence[Outcome]) -> None:
    rows = []
    for outcome in outcomes:
        row = outcome.row()
        parts = f"{row.passed}/{row.parts}"
        rows.append([row.library, row.version, row.state, parts, f"{outcome.seconds:.0f}", row.missing])
    output.table(["library", "version", "state", "parts", "seconds", "missing"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run jobs, print what became of them, and return the exit code."""
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.ecosystem",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(jobs()), help="these jobs")
    parser.add_argument(
        "--part", nargs="+", metavar="PART", default=[], help="these parts, with their tracebacks"
    )
    parser.add_argument("--list", action="store_true", help="list the jobs, and run none")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--reference", action="store_true", help="write PyTorch's results, with the PyTorch that is here"
    )
    parser.add_argument(
        "--record", action="store_true", help="write results.csv and the table of docs/ecosystem.md"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--work", type=Path, metavar="FOLDER", help="keep the environment there")
    place.add_argument("--here", action="store_true", help="use this environment and the libraries in it")
    options = parser.parse_args(arguments)
    chosen = [jobs()[name] for name in options.only or jobs()]
    if options.list:
        listed = [
            {"job": job.name, "runs": job.purpose, "parts": list(job.parts), "requires": list(job.requires)}
            for job in chosen
        ]
        if options.json:
            output.as_json(listed)
        else:
            output.table(
                ["job", "parts", "what is run"], [[job.name, len(job.parts), job.purpose] for job in chosen]
            )
        return 0
    if options.reference:
        raised = [text for job in chosen for text in write_reference(job)]
        output.text(*raised)
        return 1 if raised else 0
    if options.here:
        outcomes = _run_all(chosen, here(), options.part)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            outcomes = _run_all(chosen, create(options.work or Path(temporary, "environment")), options.part)
    for outcome in outcomes if options.part else ():
        for part, problem in outcome.problems.items():
            output.text(f"{outcome.job.name}.{part}: {problem or 'passes'}")
    if options.json:
        output.as_json([{**outcome.row()._asdict(), "problems": outcome.problems} for outcome in outcomes])
    else:
        _print(outcomes)
    recorded = page.read()
    if options.record:
        page.write({**recorded, **{outcome.job.name: outcome.row() for outcome in outcomes}})
    return (
        1
        if any(_is_worse(outcome, recorded.get(outcome.job.name), bool(options.part)) for outcome in outcomes)
        else 0
    )


def _run_all(chosen: Sequence[Job], environment: Environment, parts: Sequence[str]) -> list[Outcome]:
    outcomes = []
    for job in chosen:
        sys.stderr.write(f"{job.name}\n")
        outcomes.append(run(job, environment, parts))
    return outcomes


def _is_worse(outcome: Outcome, recorded: page.Row | None, in_part: bool) -> bool:
    if in_part or recorded is None:
        return bool(outcome.problem) or any(outcome.problems.values())
    return outcome.passed < min(recorded.passed, len(outcome.job.parts))


if __name__ == "__main__":
    sys.exit(main())
