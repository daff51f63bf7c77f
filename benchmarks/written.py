"""The figures as Markdown, for README.md and docs/benchmarks.md.

A section stands between two comments of HTML, and nothing else writes there: `publish` puts it in, and a test makes it
again from the saved report and compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.levels import TITLES
from benchmarks.libraries import LIBRARIES
from benchmarks.parts import PARTS

__all__ = ["BEGIN", "END", "digest", "page", "readme", "replace", "section", "summary"]

BEGIN = "<!-- written by `python -m benchmarks.publish`: begin -->"
END = "<!-- written by `python -m benchmarks.publish`: end -->"
NAMES = {"torch": "PyTorch", "numpy": "NumPy", "jax": "JAX", "autograd": "autograd", "tinygrad": "tinygrad"}


Reports = dict[str, dict[str, Any]]
"""The report of each instruction set, the best first (benchmarks.publish.read_reports)."""


def digest(reports: Reports) -> str:
    """Return an identifier of reports; a picture carries the one of its reports."""
    return hashlib.sha256(json.dumps(reports, sort_keys=True).encode()).hexdigest()[:16]


def replace(path: Path, text: str) -> None:
    """Replace the section of a file by text.

    Raises
    ------
    ValueError
        The file has no section.
    """
    content = path.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no section between {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def section(path: Path) -> str:
    """Return what stands in the section of a file."""
    content = path.read_text(encoding="utf-8")
    return content.partition(BEGIN)[2].partition(END)[0].strip("\n")


# --- pieces ---


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of Markdown."""
    titles = list(head)
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def ratio(value: float | None) -> str:
    """Return a ratio with two digits behind the point, or a dash."""
    return "-" if value is None else f"{value:.2f}"


def micro(value: float | None) -> str:
    """Return microseconds with three significant digits."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def conditions(report: dict[str, Any]) -> str:
    """Return the date and environment of the measurements."""
    e = report["environment"]
    versions = ", ".join(f"{NAMES[name]} {e[name]}" for name in LIBRARIES if name in NAMES and name in e)
    threads = f"{e['threads']} thread{'s' if e['threads'] != '1' else ''}"
    clock = f"{e['clock']}; " if "processor" in e["clock"] else ""
    return (
        f"{e['date']}, {e['processor']}, {e['cores']} cores, {threads} for every library; {clock}"
        f"tt at {e['commit']}, Python {e['python']}, {versions}"
    )


def titles(reports: Reports) -> list[str]:
    """Return what readers call the instruction sets."""
    return [TITLES.get(level, "best") for level in reports]


def groups(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the results of each group that has a target."""
    every = [group for suite in report["suites"].values() for group in suite["groups"].items()]
    return {name: result for name, result in every if result["aim"] is not None}


def against(value: float | None, target: float | None) -> str:
    """Return a ratio, in bold if it misses a target."""
    missed = value is not None and target is not None and value > target
    return f"**{ratio(value)}**" if missed else ratio(value)


def group_table(reports: Reports) -> str:
    """Return the table of the means with each instruction set, and their targets; what misses one is bold."""
    results = {level: groups(report) for level, report in reports.items()}
    rows = []
    for name in dict.fromkeys(name for each in results.values() for name in each):
        here = [each.get(name) for each in results.values()]
        target = next(group["aim"] for group in here if group is not None)
        means = [None if group is None else group["geometric_mean"].get("torch") for group in here]
        worst = [worst_text(group) for group in here]
        rows.append([name, *(against(mean, target) for mean in means), ratio(target), *worst])
    names = titles(reports)
    head = ["time of tt / time of PyTorch", *names, "target", *(f"worst case, {name}" for name in names)]
    return table(head, rows)


def worst_text(group: dict[str, Any] | None) -> str:
    """Return the worst ratio of a group, and of which case."""
    if group is None or group["worst"] is None:
        return "-"
    case, worst = group["worst"]
    return f"{against(worst, group['worst_allowed'])} ({case})"


def summary(reports: Reports) -> str:
    """Return the means in a few lines, for a terminal."""
    return "\n".join(
        f"{title}: {name}: {ratio(group['geometric_mean'].get('torch'))} of torch, target {ratio(group['aim'])}, "
        f"worst {ratio(group['worst'][1])} ({group['worst'][0]})"
        for title, report in zip(titles(reports), reports.values(), strict=True)
        for name, group in groups(report).items()
    )


def when(reports: Reports) -> str:
    """Return the conditions of the first report, and the date and commit of the others."""
    (first, report), *others = zip(titles(reports), reports.values(), strict=True)
    parts = [f"{first}: {conditions(report)}"]
    parts += [
        f"{title}: {r['environment']['date']}, tt at {r['environment']['commit']}" for title, r in others
    ]
    return ". ".join([*parts, *again(reports)])


def again(reports: Reports) -> list[str]:
    """Return what was measured later than the rest of a report, and when."""
    lines = []
    for title, report in zip(titles(reports), reports.values(), strict=True):
        later: dict[str, list[str]] = {}
        for name, stamp in report.get("again", {}).items():
            suite = report["suites"].get(name)
            later.setdefault(stamp, []).append(PARTS[name] if suite is None else suite["title"])
        lines += [f"Measured later, {title}: {', '.join(names)} ({stamp})" for stamp, names in later.items()]
    return lines


def part(reports: Reports, name: str) -> Any:
    """Return what was measured with the best instruction set that has it; None if no report has it."""
    return next((report[name] for report in reports.values() if report.get(name) is not None), None)


BOLD = "Bold: a target that is missed."

FIRST_STEP, FURTHER = 150, 150
"""Targets: milliseconds to the end of a first backward, microseconds of a further operator."""

COMMANDS = {"--help": 250, "ops list": 600, "ops explain add cpu:float32 cpu:int64": 500}
"""Commands -> milliseconds that they may take."""


# --- the sections ---


def readme(reports: Reports) -> str:
    """Return the section of README.md."""
    return "\n".join(
        [
            group_table(reports),
            "",
            f"{BOLD} {import_part(part(reports, 'import'))} More figures, and how they are measured: "
            f"[docs/benchmarks.md](docs/benchmarks.md). {when(reports)}.",
        ]
    )


def page(reports: Reports) -> str:
    """Return the section of docs/benchmarks.md."""
    parts = [f"{when(reports)}.", f"{group_table(reports)}\n\n{BOLD}"]
    first = next(iter(reports.values()))
    for name, suite in first["suites"].items():
        parts += [f"### {suite['title'].capitalize()}", suite_table(reports, name)]
    growth = part(reports, "growth")
    parts += ["### Calls with many operators installed", crowd_table(growth)]
    parts += [
        "### Backward, by the length of the graph",
        chain_table(growth["backward"], "nodes", "µs a node"),
    ]
    if "steps" in growth:
        parts += ["### Training steps, by the number of operators"]
        parts += [chain_table(growth["steps"], "operators", "µs an operator")]
    if (scale := part(reports, "scale")) is not None:
        parts += ["### Steps, by the number of cores", scale_part(scale)]
    if (beside := part(reports, "neighbours")) is not None:
        parts += ["### Two processes side by side", neighbours_table(beside)]
    parts += ["### Throughput, by the size of tensors", throughput_text(growth)]
    parts += ["### Memory", memory_part(part(reports, "memory"))]
    parts += ["### Import", import_part(part(reports, "import"))]
    if (cold := part(reports, "cold")) is not None:
        parts += ["### Cold starts", cold_part(cold)]
    parts += ["### Instructions of a call", instructions_part(part(reports, "instructions"))]
    return "\n\n".join(parts)


def suite_table(reports: Reports, suite: str) -> str:
    """Return the microseconds of every case with the best instruction set, and tt's ratios with each."""
    suites = [report["suites"].get(suite, {"cases": {}, "groups": {}}) for report in reports.values()]
    cases = suites[0]["cases"]
    libraries = [name for name in LIBRARIES if any(name in c["microseconds"] for c in cases.values())]
    rows = []
    for name, case in cases.items():
        times = case["microseconds"]
        ratios = [each["cases"].get(name, {"ratio": {}})["ratio"].get("torch") for each in suites]
        rows.append([f"`{name}`", *(micro(times.get(lib)) for lib in libraries), *map(ratio, ratios)])
    names = titles(reports)
    several = len(names) > 1
    ends = [f"tt / PyTorch, {name}" if several else "tt / PyTorch" for name in names]
    head = [
        f"µs, {names[0]}" if several else "µs",
        "tt",
        *(NAMES[name] for name in libraries if name != "tt"),
        *ends,
    ]
    for name, group in suites[0]["groups"].items():
        means = [
            each["groups"].get(name, {"geometric_mean": {}})["geometric_mean"].get("torch") for each in suites
        ]
        rows.append(
            [f"geometric mean, {name}", *("" for _ in libraries), *(against(m, group["aim"]) for m in means)]
        )
    return table(head, rows)


def scale_part(found: dict[str, Any]) -> str:
    """Return the times of programs by cores, and how they are modelled."""
    programs = found["programs"]
    measured, models = list(programs[0]["measured"]), list(programs[0]["modelled"])
    rows = [
        [
            f"`{program['case']}`",
            f"{program['operators']:,}",
            f"{program['memory_bytes'] / 1e6:.0f}",
            *(micro(program["measured"][n]) for n in measured),
            *(micro(program["modelled"][n]) for n in models),
        ]
        for program in programs
    ]
    head = ["µs", "operators", "MB", *(f"{n} thread{'s' if n != '1' else ''}" for n in measured)]
    head += [f"modelled, {n} cores" for n in models]
    note = (
        "Times on more cores than were measured are **modelled, not measured**. In the model, operators take "
        f"{found['operator']:.2f} µs each in the calling thread, the rest of the time of one thread is divided among "
        "the cores, and operands beyond the last cache (MB) move with the bandwidth measured here, "
        f"{found['gigabytes_a_second']:.1f} GB/s, whatever the number of cores. Waking threads and uneven parts are "
        "left out; the model for two cores shows how far off it is."
    )
    return f"{table(head, rows)}\n\n{note}"


def neighbours_table(found: list[dict[str, Any]]) -> str:
    """Return the throughput of processes side by side with one thread each and with several."""
    rows = [
        [f"`{row['case']}`", f"{row['one']:,.0f}", f"{row['several']:,.0f}", ratio(row["ratio"])]
        for row in found
    ]
    head = ["calls a second of each process", "one thread each", "as many threads as processes", "ratio"]
    return f"{table(head, rows)}\n\nAs many processes as cores; the target is a ratio of at least 0.9."


def crowd_table(growth: dict[str, Any]) -> str:
    """Return what an addition costs by how much is installed."""
    rows = []
    for kind, points in growth["crowd"].items():
        for point in points:
            add, gradient = point["a + b"], point["a + b, with gradient"]
            cells = [micro(add["microseconds"]), ratio(add["to_numpy"]), micro(gradient["microseconds"])]
            rows.append([f"{point['count']:,} {kind} more", *cells])
    return table(["", "`a + b`, µs", "of NumPy's", "with gradient, µs"], rows)


def chain_table(found: dict[str, list[dict[str, float]]], key: str, unit: str) -> str:
    """Return the cost of a node or operator by how many there are."""
    rows = [
        [f"{points[0][key]:,} {key}", *(micro(point["microseconds"]) for point in points)]
        for points in zip(*found.values(), strict=True)
    ]
    return table([unit, *("tt" if name == "tt" else NAMES[name] for name in found)], rows)


def throughput_text(growth: dict[str, Any]) -> str:
    """Return the rates by size, and the ceilings."""
    limits = growth["ceilings"]
    parts = [
        f"The machine copies {limits['memory_gigabytes_a_second']:.1f} GB/s from memory to memory (bytes read and "
        f"written), and multiplies matrices with {limits['product_gigaflops']:.0f} GFLOP/s, measured in the same run. "
        "Data that fits into the caches is faster than memory."
    ]
    for statement, points in growth["throughput"].items():
        libraries = [name for name in points[0] if name != "size"]
        unit = "GFLOP/s" if statement == "m @ n" else "GB/s"
        rows = [[f"{p['size']:,}", *(micro(p.get(name)) for name in libraries)] for p in points]
        head = [
            "edge" if unit == "GFLOP/s" else "elements",
            *("tt" if n == "tt" else NAMES[n] for n in libraries),
        ]
        parts.append(f"`{statement}`, {unit}:\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def memory_part(memory: dict[str, Any]) -> str:
    """Return what tensors, nodes and a backward pass hold."""
    if not memory:
        return "Not measured: the system does not report the memory of a process."
    libraries = list(memory["alias"])
    words = {
        "alias": "a tensor that shares its memory, bytes",
        "one_element": "a tensor of one element with its memory, bytes",
        "node": "a node of a graph that saves no tensor, bytes",
    }
    rows = [
        [text, *(f"{memory[key][name]['bytes']:.0f}" for name in libraries)] for key, text in words.items()
    ]
    parts = {
        "forward": "held by a graph that saves 100 tensors of 1 MB, MB",
        "peak_over_forward": "the most that its backward adds to that, MB",
        "halfway": "held when half of backward is done, MB",
        "left": "held when all of it is done, MB",
    }
    for key, text in parts.items():
        rows.append([text, *(f"{memory['backward'][name][key] / 2**20:.1f}" for name in libraries)])
    note = (
        "Counted by the system in pages of the process, after tt's allocator and that of C have returned their "
        "unused memory."
    )
    return f"{table(['', *('tt' if name == 'tt' else NAMES[name] for name in libraries)], rows)}\n\n{note}"


def import_part(imported: dict[str, Any]) -> str:
    """Return what importing takes."""
    return (
        f"`import tt` takes {imported['alone']:.0f} ms; with NumPy, which its first use imports, {imported['tt']:.0f} "
        f"ms: {imported['difference']:.0f} ms more than `import numpy`, for {imported['tt_modules']} modules."
    )


def cold_part(found: dict[str, Any]) -> str:
    """Return the costs of the first step and of commands, with their targets; missed ones are bold."""
    *before, last = found["steps"]
    rows = [[f"to the end of: {step['name']}", f"{step['milliseconds']:.0f} ms", "-"] for step in before]
    measured = [(f"to the end of: {last['name']}", last["milliseconds"], "ms", FIRST_STEP)]
    measured += [("first call of a further operator of a loaded family", found["further"], "µs", FURTHER)]
    measured += [
        (f"`tt {words}`", found["commands"][words], "ms", most)
        for words, most in COMMANDS.items()
        if words in found["commands"]
    ]
    for name, value, unit, most in measured:
        shown = f"{value:.0f} {unit}"
        rows.append([name, f"**{shown}**" if value > most else shown, f"{most} {unit}"])
    note = "Processor time; steps beyond `import numpy`, each with those before it, and commands with Python's start."
    return f"{table(['', 'time', 'target'], rows)}\n\n{note}"


def instructions_part(found: dict[str, dict[str, int]]) -> str:
    """Return the instructions of each call."""
    if not found:
        return "Not counted: callgrind is not installed."
    rows = [
        [f"`{case}`", *(f"{counts[case]:,}" for counts in found.values())]
        for case in next(iter(found.values()))
    ]
    return table(["", *("tt" if name == "tt" else NAMES[name] for name in found)], rows)
