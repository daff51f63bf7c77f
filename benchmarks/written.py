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

from benchmarks.libraries import LIBRARIES

__all__ = ["BEGIN", "END", "digest", "page", "readme", "replace", "section", "summary"]

BEGIN = "<!-- written by `python -m benchmarks.publish`: begin -->"
END = "<!-- written by `python -m benchmarks.publish`: end -->"
NAMES = {"torch": "PyTorch", "numpy": "NumPy", "jax": "JAX", "autograd": "autograd", "tinygrad": "tinygrad"}


def digest(report: dict[str, Any]) -> str:
    """Return an identifier of a report; a picture carries the one of its report."""
    return hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()[:16]


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


def groups(report: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield each group that has a target: its name and its results."""
    for suite in report["suites"].values():
        for name, found in suite["groups"].items():
            if found["aim"] is not None:
                yield name, found


def group_table(report: dict[str, Any]) -> str:
    """Return the table of the means and their targets."""
    rows = []
    for name, found in groups(report):
        mean = found["geometric_mean"].get("torch")
        case, worst = found["worst"]
        rows.append([name, ratio(mean), ratio(found["aim"]), f"{ratio(worst)} ({case})"])
    return table(["time of tt / time of PyTorch", "geometric mean", "target", "worst case"], rows)


def summary(report: dict[str, Any]) -> str:
    """Return the means in a few lines, for a terminal."""
    return "\n".join(
        f"{name}: {ratio(found['geometric_mean'].get('torch'))} of torch, target {ratio(found['aim'])}, "
        f"worst {ratio(found['worst'][1])} ({found['worst'][0]})"
        for name, found in groups(report)
    )


# --- the sections ---


def readme(report: dict[str, Any]) -> str:
    """Return the section of README.md."""
    imported = report["import"]
    return "\n".join(
        [
            group_table(report),
            "",
            f"`import tt` takes {imported['difference']:.0f} ms more than `import numpy`. More figures, and how they "
            f"are measured: [docs/benchmarks.md](docs/benchmarks.md). {conditions(report)}.",
        ]
    )


def page(report: dict[str, Any]) -> str:
    """Return the section of docs/benchmarks.md."""
    parts = [f"Measured on {conditions(report)}.", group_table(report)]
    for suite in report["suites"].values():
        parts += [f"### {suite['title'].capitalize()}", suite_table(suite)]
    parts += ["### Calls with many operators installed", crowd_table(report["growth"])]
    parts += ["### Backward, by the length of the graph", backward_table(report["growth"])]
    parts += ["### Throughput, by the size of tensors", throughput_text(report["growth"])]
    parts += ["### Memory", memory_part(report["memory"]), "### Import", import_part(report["import"])]
    parts += ["### Instructions of a call", instructions_part(report["instructions"])]
    return "\n\n".join(parts)


def suite_table(suite: dict[str, Any]) -> str:
    """Return the microseconds of every case in every library, and tt's ratio to the first."""
    cases = suite["cases"]
    libraries = [name for name in LIBRARIES if any(name in c["microseconds"] for c in cases.values())]
    rows = []
    for name, case in cases.items():
        times = case["microseconds"]
        rows.append(
            [f"`{name}`", *(micro(times.get(lib)) for lib in libraries), ratio(case["ratio"].get("torch"))]
        )
    head = ["µs", "tt", *(NAMES[name] for name in libraries if name != "tt"), "tt / PyTorch"]
    means = [found["geometric_mean"].get("torch") for found in suite["groups"].values()]
    rows += [
        [f"geometric mean, {name}", *("" for _ in libraries), f"**{ratio(mean)}**"]
        for name, mean in zip(suite["groups"], means, strict=True)
    ]
    return table(head, rows)


def crowd_table(growth: dict[str, Any]) -> str:
    """Return what an addition costs by how much is installed."""
    rows = []
    for kind, points in growth["crowd"].items():
        for point in points:
            add, gradient = point["a + b"], point["a + b, with gradient"]
            cells = [micro(add["microseconds"]), ratio(add["to_numpy"]), micro(gradient["microseconds"])]
            rows.append([f"{point['count']:,} {kind} more", *cells])
    return table(["", "`a + b`, µs", "of NumPy's", "with gradient, µs"], rows)


def backward_table(growth: dict[str, Any]) -> str:
    """Return the cost of a node by the length of a chain."""
    found = growth["backward"]
    rows = [
        [f"{points[0]['nodes']:,} nodes", *(micro(point["microseconds"]) for point in points)]
        for points in zip(*found.values(), strict=True)
    ]
    return table(["µs a node", *("tt" if name == "tt" else NAMES[name] for name in found)], rows)


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
        f"`import numpy` takes {imported['numpy']:.0f} ms, `import tt` {imported['tt']:.0f} ms: "
        f"{imported['difference']:.0f} ms more, for {imported['tt_modules']} modules."
    )


def instructions_part(found: dict[str, dict[str, int]]) -> str:
    """Return the instructions of each call."""
    if not found:
        return "Not counted: callgrind is not installed."
    rows = [
        [f"`{case}`", *(f"{counts[case]:,}" for counts in found.values())]
        for case in next(iter(found.values()))
    ]
    return table(["", *("tt" if name == "tt" else NAMES[name] for name in found)], rows)
