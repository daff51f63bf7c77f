"""Pictures of the site, drawn at build time from tt's own records: SVG in the colours of the page.

A page has `<!-- picture: NAME -->`; a function of that name without parameters returns the picture.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tutorials
from drawing import Picture, in_page_colours

from benchmarks.records import read_reports

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARKER = re.compile(r"^<!-- picture: (\w+) -->$", re.M)


def call() -> Picture:
    """Draw how a call of add goes through the two levels, from `tt.explain`."""
    import tt

    explained = tt.explain("add", ["cpu:float32+autograd", "cpu:int64"]).to_dict()
    keys, _, dtypes = explained["call"].partition(": ")
    picture = Picture("A call of add through the two levels of the dispatcher")
    width = 640.0
    arguments = [f"{a['name']}: {a['spec']}" for a in explained["arguments"]]
    y = 0.0
    for label, lines in (
        ("", ["tt.add(a, b)", *arguments]),
        ("OR of the bits of the tensors", ["level 1: devices, layouts, layers", keys]),
        ("OR of the dtypes that promote", ["level 2: dtypes", f"{dtypes} -> {explained['compute']}"]),
    ):
        if label:
            picture.arrow((60, y - 26), (60, y - 2), label=label)
        _, height = picture.box(0, y, lines, width)
        y += height + 26
    picture.arrow(
        (60, y - 26),
        (60, y - 2),
        label="the first call of this combination looks for kernels, later ones find this",
    )
    # A kernel's forms, functional and out=, are candidates each; here they are one.
    for candidate in {str(c): c for c in explained["candidates"]}.values():
        x = 24.0 * candidate["level"]
        source = re.sub(r"^tt-tensor \S+ ", "", candidate["source"])
        lines = [("-> " if candidate["taken"] else "   ") + f"{candidate['kind']} {source}"]
        _, height = picture.box(
            x, y, [*lines, f"   {candidate['reason']}"], width - x, "taken" if candidate["taken"] else ""
        )
        y += height + 5
    picture.arrow((60, y), (60, y + 22))
    picture.box(0, y + 24, ["result", ", ".join(explained["results"])], width)
    return picture


def backward() -> str:
    """Draw the graph that leads to a loss, by `tt.autograd.draw`."""
    import tt

    tt.manual_seed(0)
    w, b = tt.randn(4, 3, requires_grad=True), tt.zeros(4, requires_grad=True)
    loss = tt.nn.functional.mse_loss(tt.tanh(tt.nn.functional.linear(tt.ones(2, 3), w, b)), tt.zeros(2, 4))
    svg = tt.autograd.draw(loss, {"weight": w, "bias": b}).svg
    return in_page_colours(svg)


def layers() -> Picture:
    """Draw who may import whom, from the contracts of pyproject.toml."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    rows = {
        contract["name"]: [re.split(r" [|:] ", layer) for layer in contract["layers"]]
        for contract in contracts
        if contract["type"] == "layers"
    }
    whole = rows["Commands over plugins and backends over the core"]
    core, dispatcher = rows["The layers of the core"], rows["The layers of the dispatcher"]
    picture = Picture("Layers: a module imports what lies below it")
    width, y = 560.0, 0.0
    picture.box(0, y, ["tt (api/): what users import; its libraries use public names only"], width)
    y += 44
    for row in [*whole[:-1], *core]:
        inside = row not in whole
        x = 24.0 if inside else 0.0
        share = (width - x - 8 * (len(row) - 1)) / len(row)
        for number, name in enumerate(row):
            lines = [name]
            if name == "tt.core.dispatch":
                lines.append(" > ".join(folder for folders in dispatcher for folder in folders))
            picture.box(x + number * (share + 8), y, lines, share)
        y += 56 if "tt.core.dispatch" in row else 40
    picture.text(0, y + 14, "A module imports what lies below it, and nothing above.", ' class="faint"')
    return picture


def plugin() -> Picture:
    """Draw the states of a plugin, and what takes it from one to the next."""
    from typing import get_args

    from tt.core.host.plugin import State

    about = {
        "found": ["its entry point is known"],
        "loaded": ["tt_manifest() says which names it has", "nothing heavy is imported"],
        "active": ["tt_register() filled the tables", "calls find its kernels there"],
    }
    first_use = "the first use of one of its names"
    why = {"found": "", "loaded": "the first tensor or operator of the program", "active": first_use}
    ends = {
        "blocked": ["TT_PLUGINS or TT_DISABLE_PLUGINS excludes it"],
        "failed": ["a hook raised: undone, kept with its reason"],
        "unavailable": ["a driver or a library is missing"],
    }
    if set(about) | set(ends) != set(get_args(State)):
        raise ValueError(f"the states of plugins are {get_args(State)}")
    picture = Picture("The life of a plugin")
    y = 0.0
    for (state, lines), (end, reason) in zip(about.items(), ends.items(), strict=True):
        if why[state]:
            picture.arrow((60, y - 34), (60, y - 2), label=why[state])
        _, height = picture.box(0, y, [state, *lines], 300)
        picture.box(420, y + 8, [end, *reason], 380, "bad")
        picture.arrow((300, y + height / 2), (418, y + height / 2))
        y += height + 34
    return picture


def speed(folder: Path = RESULTS) -> Picture:
    """Draw the published means, times of tt as parts of those of PyTorch: a bar for each measured instruction set."""
    reports = list(read_reports(folder).values())
    levels = [level_of(report["environment"]) for report in reports]
    means = [means_of(report["suites"]) for report in reports]
    said = [
        f"{level}: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in found.items())
        for level, found in zip(levels, means, strict=True)
    ]
    picture = Picture("Time of tt as a part of the time of PyTorch, geometric means; " + "; ".join(said))
    left, scale, bar = 190, 420, 24
    y = 0
    for name in means[0]:
        picture.text(0, y + 14, name)
        for level, found in zip(levels, means, strict=True):
            if name in found:
                width = found[name] * scale
                picture.parts.append(
                    f'<rect class="taken" x="{left}" y="{y + 1}" width="{width:g}" height="18" rx="3"/>'
                )
                picture.text(left + 6 + width, y + 14, f"{found[name]:.2f}")
                picture.text(left + 6, y + 14, level, ' class="faint"')
                y += bar
        y += 6
    picture.parts.append(f'<path d="M{left + scale} 0V{y}" stroke-dasharray="4 3"/>')
    picture.text(left + scale - 50, y + 14, "PyTorch = 1")
    return picture


def means_of(suites: dict[str, Any]) -> dict[str, float]:
    """Return the geometric mean of each group that has a target."""
    groups = [group for suite in suites.values() for group in suite["groups"].items()]
    return {name: found["geometric_mean"]["torch"] for name, found in groups if found["aim"] is not None}


def level_of(environment: dict[str, str]) -> str:
    """Return the instruction set of a report: the one that it was held to, or the one that the kernels ran in."""
    words = f"{environment.get('instruction set', '')} {environment['form in detail']}"
    known = {
        "avx2": "AVX2",
        "baseline": "baseline",
        "avx512": "AVX-512",
        "x86-64-v4": "AVX-512",
        "x86-64-v3": "AVX2",
    }
    return next((shown for word, shown in known.items() if word in words), "")


PICTURES: dict[str, Callable[[], Picture | str]] = {
    "call": call, "backward": backward, "layers": layers, "plugin": plugin, "speed": speed,
    **tutorials.PICTURES,
}  # fmt: skip


def with_pictures(text: str) -> str:
    """Return a page with its pictures, as HTML that Markdown passes on."""
    return MARKER.sub(lambda marker: f"```{{raw}} html\n<figure>{PICTURES[marker[1]]()}</figure>\n```", text)
