"""What pictures of the site are drawn with: boxes, text and arrows as SVG, in the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LINE, CHARACTER, EDGE = 17, 7.3, 10
# Colours of the page, light or dark: text and lines take the current one, grounds are that with little opacity.
STYLE = (
    "svg.picture{max-width:100%;height:auto;font:12px ui-monospace,monospace;color:currentColor}"
    "svg.picture text{fill:currentColor}svg.picture .head{font-weight:bold}svg.picture .faint{opacity:.65}"
    "svg.picture rect{fill:currentColor;fill-opacity:.05;stroke:currentColor;stroke-opacity:.45}"
    "svg.picture rect.taken{fill:#1f9d55;fill-opacity:.22;stroke:#1f9d55;stroke-opacity:1}"
    "svg.picture rect.bad{fill:#d1495b;fill-opacity:.2;stroke:#d1495b;stroke-opacity:1}"
    "svg.picture path{fill:none;stroke:currentColor;stroke-opacity:.6}svg.picture marker path{fill:currentColor}"
)

# What `tt.autograd.draw` paints for a light page of its own, and what a page of either scheme shows instead.
PAPER = {
    'fill="#555"': 'fill="currentColor"',
    'fill="#111"': 'fill="currentColor"',
    'stroke="#555"': 'stroke="currentColor" stroke-opacity=".6"',
    'fill="#f4f4f4"': 'fill="currentColor" fill-opacity=".05"',
    'fill="#cfe8ff"': 'fill="#3b8fd9" fill-opacity=".25"',
    'fill="#fff"': 'fill="none"',
}


def in_page_colours(svg: str) -> str:
    """Return a drawing of autograd in the colours of the page, and no wider than it."""
    for own, paged in PAPER.items():
        svg = svg.replace(own, paged)
    return svg.replace("<svg ", '<svg style="max-width:100%;height:auto;color:currentColor" ', 1)


class Picture:
    """An SVG in the making."""

    def __init__(self, title: str) -> None:
        self.title, self.parts, self.width, self.height = title, list[str](), 0.0, 0.0

    def box(
        self, x: float, y: float, lines: Sequence[str], width: float = 0, kind: str = ""
    ) -> tuple[float, float]:
        """Draw a box with lines of text, the first of them bold; return its width and height."""
        width = width or max(map(len, lines)) * CHARACTER + 2 * EDGE
        height = len(lines) * LINE + 2 * EDGE - 4
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'
        )
        for number, line in enumerate(lines):
            style = ' class="head"' if number == 0 else ""
            self.text(x + EDGE, y + EDGE + 9 + number * LINE, line, style)
        self.width, self.height = max(self.width, x + width), max(self.height, y + height)
        return width, height

    def text(self, x: float, y: float, line: str, style: str = "") -> None:
        """Write a line."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{style} xml:space="preserve">{escape(line)}</text>')
        self.width, self.height = max(self.width, x + len(line) * CHARACTER), max(self.height, y + 6)

    def arrow(self, *points: tuple[float, float], label: str = "") -> None:
        """Draw an arrow along points, with a label behind its middle."""
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path d="M{path}" marker-end="url(#head)"/>')
        if label:
            (x0, y0), (x1, y1) = points[0], points[-1]
            self.text((x0 + x1) / 2 + 6, (y0 + y1) / 2 + 4, label, ' class="faint"')

    def __str__(self) -> str:
        width, height = self.width + 2, self.height + 2
        return (
            f'<svg class="picture" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(self.title)}" '
            f'width="{width:g}" height="{height:g}" viewBox="-1 -1 {width + 1:g} {height + 1:g}">'
            f"<title>{escape(self.title)}</title><style>{STYLE}</style>"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto">'
            f'<path d="M0 0L8 4L0 8z"/></marker></defs>{"".join(self.parts)}</svg>'
        )
