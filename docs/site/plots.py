"""Plots of functions of one variable, computed by tt at build time: SVG in the colours of the page, light or dark.

The texts of an operator give the range: `plot: [from, to]`, perhaps followed by the range of its values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from itertools import pairwise
from typing import Any, Final

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 420.0, 240.0, 44.0, 22.0, 8.0
POINTS: Final = 241
STYLE: Final = (
    "svg.plot{max-width:100%;height:auto;font:11px ui-monospace,monospace;color:currentColor}"
    "svg.plot text{fill:currentColor}svg.plot path{fill:none;stroke:currentColor;stroke-opacity:.15}"
    "svg.plot path.axis{stroke-opacity:.5}svg.plot path.value{stroke:#1f9d55;stroke-opacity:1;stroke-width:2}"
    "svg.plot path.slope{stroke:#c8553d;stroke-opacity:1;stroke-width:1.4;stroke-dasharray:5 4}"
)


def values(function: Any, start: float, end: float) -> tuple[list[float], list[float], list[float]]:
    """Return places, values and derivatives of a function; no derivatives of one that has no gradient."""
    import tt

    # The ends are moved inward a little: many functions have a pole or an end of their domain there.
    margin = (end - start) * 1e-6
    places = tt.linspace(start + margin, end - margin, POINTS, dtype=tt.float64, requires_grad=True)
    found = function(places)
    slopes: list[float] = []
    if found.requires_grad:
        with suppress(NotImplementedError):  # of a function whose derivative no formula gives
            found.sum().backward()
            slopes = places.grad.tolist()
    return places.detach().tolist(), found.detach().to(tt.float64).tolist(), slopes


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers in a range, about five."""
    raw = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def limits(numbers: Sequence[float]) -> tuple[float, float]:
    """Return a range of values that leaves out the ends of poles."""
    finite = sorted(number for number in numbers if math.isfinite(number))
    low, high = finite[0], finite[-1]
    middle_low, middle_high = finite[len(finite) // 20], finite[-1 - len(finite) // 20]
    spread = (middle_high - middle_low) or 1.0
    low, high = max(low, middle_low - spread), min(high, middle_high + spread)
    margin = (high - low or 1.0) * 0.06
    return low - margin, high + margin


def plot(title: str, function: Any, bounds: Sequence[float]) -> str:
    """Return the plot of a function, with its derivative where it has one."""
    start, end = bounds[:2]
    x, y, slopes = values(function, start, end)
    low, high = bounds[2:] if len(bounds) == 4 else limits(y)

    def across(place: float) -> float:
        return LEFT + (place - start) / (end - start) * (WIDTH - LEFT - 8)

    def down(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def line(numbers: Sequence[float], kind: str) -> str:
        return "".join(
            f'<path class="{kind}" d="M{" L".join(f"{across(px):.1f} {down(py):.1f}" for px, py in part)}"/>'
            for part in parts(x, numbers, low, high)
        )

    drawn = []
    for tick in ticks(start, end):
        drawn.append(f'<path{_axis(tick)} d="M{across(tick):.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        drawn.append(f'<text x="{across(tick):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{tick:g}</text>')
    for tick in ticks(low, high):
        drawn.append(f'<path{_axis(tick)} d="M{LEFT} {down(tick):.1f}H{WIDTH - 8}"/>')
        drawn.append(f'<text x="{LEFT - 5}" y="{down(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>')
    about = f"{title} from {start:g} to {end:g}" + (", and its derivative, dashed" if slopes else "")
    return (
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH:g}" height="{HEIGHT:g}" '
        f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}"><title>{escape(about)}</title><style>{STYLE}</style>'
        f"{''.join(drawn)}{line(slopes, 'slope')}{line(y, 'value')}</svg>"
    )


def _axis(tick: float) -> str:
    return ' class="axis"' if abs(tick) < 1e-12 else ""


def parts(
    x: Sequence[float], y: Sequence[float], low: float, high: float
) -> Iterator[list[tuple[float, float]]]:
    """Yield the pieces of a line that lie in a range of values, cut where it jumps."""
    changes = [abs(after - before) for before, after in pairwise(y)]
    tall, steep = 0.3 * (high - low), 0.08 * (high - low)
    piece: list[tuple[float, float]] = []
    for number, (place, value) in enumerate(zip(x, y, strict=False)):
        inside = math.isfinite(value) and low <= value <= high
        change = changes[number - 1] if number else 0.0
        around = max(
            [*changes[max(number - 2, 0) : max(number - 1, 0)], *changes[number : number + 1]], default=0.0
        )
        # A pole, or a step between parts that hardly change.
        jumps = change > tall or (change > steep and change > 8 * around)
        if piece and (not inside or jumps):
            yield piece
            piece = []
        if inside:
            piece.append((place, value))
    if piece:
        yield piece
