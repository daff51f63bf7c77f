"""Draws a report: one picture, as PNG and as SVG, with the date, the processor and the versions in it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.libraries import LIBRARIES, PEERS
from benchmarks.written import NAMES, Reports, digest, groups, part, titles, when

__all__ = ["NAME", "draw_report"]

NAME = "benchmarks"
COLOURS = {
    "tt": "#0b6e4f",
    "torch": "#d1495b",
    "numpy": "#4062bb",
    "jax": "#8d5a97",
    "autograd": "#e08e45",
    "tinygrad": "#7a7a7a",
}
INK = "#222222"
FAINT = "#d8d8d8"


def draw_report(reports: Reports, folder: Path) -> list[Path]:
    """Draw reports into a folder.

    Parameters
    ----------
    reports : dict
        By instruction set, as `benchmarks.publish` reads them.
    folder : Path
        Where the two files go.

    Returns
    -------
    list of Path
        The picture as PNG and as SVG; each holds the digest of the reports.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    style: Any = {
        "font.size": 9,
        "font.family": "DejaVu Sans",
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": NAME,  # the same report is the same file
        "svg.fonttype": "path",
    }
    with mpl.rc_context(style):
        figure, axes = pyplot.subplots(2, 2, figsize=(12, 8), gridspec_kw={"width_ratios": [1.25, 1]})
        strips(axes[0][0], reports)
        peers(axes[0][1], reports)
        curves(axes[1][0], part(reports, "growth"))
        rates(axes[1][1], part(reports, "growth"))
        figure.suptitle(
            "tt: time against PyTorch and others (lower is faster)", fontsize=13, x=0.01, ha="left"
        )
        note = textwrap.fill(when(reports), 170)
        figure.text(0.01, 0.008, note, fontsize=7.5, color="#555555", va="bottom")
        figure.tight_layout(rect=(0, 0.045, 1, 0.97), h_pad=2.5, w_pad=2.5)
        files = []
        for suffix, key in (("png", "Description"), ("svg", "Description")):
            file = folder / f"{NAME}.{suffix}"
            metadata: dict[str, Any] = {key: f"report {digest(reports)}"}
            if suffix == "svg":
                metadata["Date"] = None
            figure.savefig(file, dpi=130, metadata=metadata, facecolor="white")
            files.append(file)
        pyplot.close(figure)
    return files


def grouped(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], list[float]]]:
    """Yield the groups with a target: the name of each, its results, and the ratios of its cases to torch."""
    every = {name: case for suite in report["suites"].values() for name, case in suite["cases"].items()}
    for name, group in groups(report).items():
        cases = [c for c in every.values() if c["group"] == name and "torch" in c["ratio"]]
        if cases:
            yield name, group, [case["ratio"]["torch"] for case in cases]


def strips(axis: Any, reports: Reports) -> None:
    """Draw a dot for each case, by group and instruction set: the ratio to torch; with the mean and the aim."""
    several = len(reports) > 1
    by_level = zip(titles(reports), map(list, map(grouped, reports.values())), strict=True)
    found_rows = [(position, title, row) for title, level in by_level for position, row in enumerate(level)]
    rows = sorted(found_rows, key=lambda entry: entry[0])[
        ::-1
    ]  # a group's instruction sets next to each other
    for row, (_, title, (_, entry, ratios)) in enumerate(rows):
        shade = 1.0 if title == titles(reports)[0] else 0.55
        for number, ratio in enumerate(sorted(ratios)):
            axis.plot(
                ratio,
                row + (number % 5 - 2) * 0.07,
                "o",
                ms=4.5,
                color=COLOURS["tt"],
                alpha=0.45 * shade,
                mew=0,
            )
        mean = entry["geometric_mean"]["torch"]
        axis.plot([entry["aim"]] * 2, [row - 0.32, row + 0.32], color=COLOURS["numpy"], lw=1.6)
        axis.plot(mean, row, "D", ms=8, color=COLOURS["tt"], alpha=shade, mec="white")
        above: dict[str, Any] = {
            "ha": "center",
            "va": "bottom",
            "fontweight": "bold",
            "fontsize": 6.5 if several else 9,
        }
        axis.annotate(
            f"{mean:.2f}", (mean, row + 0.22 if several else row + 0.3), color=COLOURS["tt"], **above
        )
    axis.axvline(1, color=COLOURS["torch"], lw=1)
    axis.set_xscale("log")
    ticks = [0.1, 0.2, 0.5, 1, 2, 5]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    labels = [
        f"{name}, {title}" if several else f"{name} ({len(ratios)})" for _, title, (name, _, ratios) in rows
    ]
    axis.set_yticks(range(len(rows)), labels)
    axis.set_ylim(-0.6, len(rows) - 0.3)
    axis.grid(axis="x", color=FAINT, lw=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    axis.set_title(
        "time of tt / time of PyTorch: cases, geometric mean (diamond), target (bar)",
        fontsize=9.5,
        loc="left",
    )


def peers(axis: Any, reports: Reports) -> None:
    """Draw the geometric means against every peer, with the best instruction set."""
    report = next(iter(reports.values()))
    means_of = [(name, group["geometric_mean"]) for name, group in groups(report).items()][::-1]
    present = [peer for peer in PEERS if any(peer in means for _, means in means_of)]
    for number, peer in enumerate(present):
        height = (len(present) - 1) / 2 - number
        points = [
            (row + height * 0.15, means[peer]) for row, (_, means) in enumerate(means_of) if peer in means
        ]
        for row, mean in points:
            axis.plot([1, mean], [row, row], color=COLOURS[peer], lw=1.4)
            side = {"ha": "left", "xytext": (6, 0)} if mean > 1 else {"ha": "right", "xytext": (-6, 0)}
            label: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 7, **side}
            axis.annotate(f"{mean:.2g}", (mean, row), color=COLOURS[peer], **label)
        axis.plot(
            [mean for _, mean in points],
            [row for row, _ in points],
            "o",
            ms=5,
            color=COLOURS[peer],
            label=NAMES[peer],
        )
    axis.axvline(1, color=INK, lw=0.8)
    axis.set_xscale("log")
    axis.margins(x=0.25)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_ylim(-0.6, len(means_of) - 0.3)
    axis.set_yticks(range(len(means_of)), [textwrap.fill(name, 16) for name, _ in means_of])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=FAINT, lw=0.6)
    axis.set_axisbelow(True)
    if present:
        axis.legend(frameon=False, fontsize=7.5, loc="best")
    level = f", {titles(reports)[0]}" if len(reports) > 1 else ""
    axis.set_title(f"time of tt / time of each peer, geometric means{level}", fontsize=9.5, loc="left")


def curves(axis: Any, growth: dict[str, Any]) -> None:
    """Draw the cost of a call by installed operators, and of a backward pass by its length: both flat."""
    marks = {"operators": "o", "plugins": "s", "devices": "^"}
    for kind, points in growth["crowd"].items():
        counts = [max(point["count"], 1) for point in points]
        costs = [point["a + b"]["microseconds"] for point in points]
        axis.plot(
            counts,
            costs,
            f"{marks[kind]}-",
            color=COLOURS["tt"],
            lw=1,
            ms=4.5,
            label=f"a + b with N {kind}",
        )
    for library, points in growth["backward"].items():
        name = "tt" if library == "tt" else NAMES[library]
        axis.plot(
            [point["nodes"] for point in points],
            [point["microseconds"] for point in points],
            "D--",
            color=COLOURS[library],
            lw=1,
            ms=4,
            label=f"{name}: backward of N nodes, a node",
        )
    axis.set_xscale("log")
    axis.set_ylim(0, None)
    axis.set_xlabel("N")
    axis.set_ylabel("µs")
    axis.grid(color=FAINT, lw=0.6)
    axis.legend(frameon=False, fontsize=7.5)
    axis.set_title("cost of a call and of a node of a graph, by how many there are", fontsize=9.5, loc="left")


def rates(axis: Any, growth: dict[str, Any]) -> None:
    """Draw the throughput by size, with the bandwidth of memory."""
    lines = {"x + y": "-", "exp(x)": "--"}
    for statement, line in lines.items():
        points = growth["throughput"][statement]
        for library in [name for name in LIBRARIES if name in points[0]]:
            name = "tt" if library == "tt" else NAMES[library]
            axis.plot(
                [point["size"] for point in points],
                [point.get(library) for point in points],
                line,
                color=COLOURS[library],
                lw=1.4,
                label=f"{name}, {statement}",
            )
    limit = growth["ceilings"]["memory_gigabytes_a_second"]
    axis.axhline(limit, color=INK, lw=0.8, ls=":")
    alignment: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
    axis.annotate(f"memory: {limit:.0f} GB/s", (1, limit), fontsize=7.5, **alignment)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.set_xlabel("elements of float32")
    axis.set_ylabel("GB/s")
    axis.grid(color=FAINT, lw=0.6)
    axis.legend(frameon=False, fontsize=7.5, ncols=2)
    axis.set_title("throughput by size", fontsize=9.5, loc="left")
