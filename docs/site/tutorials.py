"""Pictures of the tutorials, drawn from what their examples compute: a page is run up to the place of its picture."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from drawing import CHARACTER, Picture, in_page_colours

PAGES: Final = Path(__file__).resolve().parents[1] / "tutorials"
GREEN, RED = "#1f9d55", "#c8553d"
SERVED: Final = (
    "pointwise",
    "reduction",
    "shaping",
    "indexing",
    "linalg",
    "activation",
    "convolution",
    "loss",
)
"""The families of the picture of a backend: those that a reader has heard of."""


def names_of(page: str, picture: str) -> dict[str, Any]:
    """Run the examples of a page up to a picture, and return their names; examples of errors are left out."""
    text, found, _ = (PAGES / page).read_text(encoding="utf-8").partition(f"<!-- picture: {picture} -->")
    if not found:
        raise ValueError(f"{page} has no place for the picture {picture}")
    names: dict[str, Any] = {"__name__": "__main__"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        for example in doctest.DocTestParser().get_examples(text):
            if example.exc_msg is None:
                exec(compile(example.source, page, "exec"), names)
    return names


def bars(
    picture: Picture, rows: Sequence[tuple[str, Sequence[tuple[float, str]], str]], scale: float
) -> None:
    """Draw a bar of coloured parts for each row, with its name in front and a text behind it."""
    left = max(len(name) for name, _, _ in rows) * CHARACTER + 14
    for number, (name, parts, text) in enumerate(rows):
        y, x = number * 28.0, left
        picture.text(0, y + 15, name)
        for value, colour in parts:
            picture.parts.append(
                f'<rect x="{x:g}" y="{y + 2:g}" width="{value * scale:g}" height="18" '
                f'style="fill:{colour};fill-opacity:.5;stroke:{colour}"/>'
            )
            x += value * scale
        picture.text(x + 8, y + 15, text)


def training() -> Picture:
    """Draw the loss of each epoch, and the learning rate as a part of the largest one."""
    names = names_of("training.md", "training")
    losses, rates = names["losses"], names["rates"]
    picture = Picture("The loss of each epoch falls while the learning rate rises and falls again")
    width, height, left = 480.0, 180.0, 44.0
    for values, colour, dashes in (
        (losses, GREEN, ""),
        ([rate * max(losses) / max(rates) for rate in rates], RED, "5 4"),
    ):
        points = [
            f"{left + width * epoch / (len(values) - 1):.1f} {height * (1 - value / max(losses)):.1f}"
            for epoch, value in enumerate(values)
        ]
        picture.parts.append(
            f'<path d="M{" L".join(points)}" style="stroke:{colour};stroke-opacity:1;stroke-width:2;'
            f'stroke-dasharray:{dashes or "none"}"/>'
        )
    picture.parts.append(f'<path d="M{left:g} 0V{height:g}H{left + width:g}"/>')
    picture.text(0, 10, f"{max(losses):.2f}")
    picture.text(0, height, "0")
    picture.text(left, height + 18, "epoch 1")
    picture.text(left + width - 9 * CHARACTER, height + 18, f"epoch {len(losses)}")
    picture.text(left, height + 40, f"loss, at last {losses[-1]:.3f} (green)")
    picture.text(left, height + 58, f"learning rate, at most {max(rates):.2g} (red, dashed)")
    return picture


def served() -> Picture:
    """Draw how many operators of some families a new backend serves by its library, and how many are composed."""
    import numpy as np

    from tt.library import REGISTRY, ArrayApiBackend
    from tt.testing.coverage import Place, matrix

    backend = ArrayApiBackend(np, "drawn")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    try:
        found = matrix([Place("drawn", "strided")])
        counted: dict[str, Counter[str]] = {}
        for row in found.rows:
            counted.setdefault(row.family, Counter())[row.cells[0].how] += 1
    finally:
        for handle in reversed(handles):
            handle.remove()
    rows = []
    for family in SERVED:
        kernels, composed, missing = (counted[family][how] for how in ("kernel", "composite", "missing"))
        text = f"{kernels} kernels, {composed} composed" + (f", {missing} missing" if missing else "")
        rows.append((family, [(kernels, GREEN), (composed, "#888")], text))
    picture = Picture("Operators that a library of the array API standard serves, and those that tt composes")
    bars(picture, rows, 3.0)
    return picture


def explained() -> Picture:
    """Draw the candidates for softmax when its kernels are hidden, as `tt.explain` lists them."""
    import tt

    picture = Picture("The candidates for a call of softmax, whose kernels are hidden")
    with tt.mask_kernels("softmax"):
        steps = tt.explain("softmax", ["cpu:float32"]).steps()
    y, width = 0.0, 640.0
    for step in steps:
        source = re.sub(r"^tt-tensor (?:\S+ )?(?=tt|\()", "", step["source"])
        mark = "->" if step["taken"] else "  "
        lines = [f"{mark} {step['kind']} {source}", f"   {step['reason']}"]
        _, height = picture.box(0, y, lines, width, "taken" if step["taken"] else "")
        y += height + 5
    return picture


def gradient() -> str:
    """Draw the graph of the first loss of the page on gradients."""
    import tt

    names = names_of("gradients.md", "gradient")
    x, w = names["x"], names["w"]
    svg = tt.autograd.draw((tt.tanh(w * x) ** 2).mean(), {"x": x, "w": w}).svg
    return in_page_colours(svg)


def optimizers() -> Picture:
    """Draw how many operators a step of each form of an optimizer calls."""
    calls = names_of("faster.md", "optimizers")["calls"]
    picture = Picture("Operators that a step of AdamW calls, for 16 parameters")
    bars(
        picture, [(name, [(n, GREEN)], f"{n} calls") for name, n in calls.items()], 360 / max(calls.values())
    )
    return picture


PICTURES: Final[dict[str, Callable[[], Picture | str]]] = {
    "training": training, "served": served, "explained": explained, "gradient": gradient, "optimizers": optimizers,
}  # fmt: skip
