"""Pictures of the graph: as DOT text for Graphviz, and as SVG that needs no other program.

Nodes are laid out in rows by their distance from the end of the graph, as Sugiyama's method does, with the order in
each row chosen by the mean place of the neighbours (the barycentre heuristic).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tt.core.library import TensorBase, errors
from tt.plugins.autograd.record.graph import STATE, AccumulateGrad, Node
from tt.plugins.autograd.record.rules import OpNode
from tt.plugins.autograd.record.saved import Packed, SavedTensors, attribute_names
from tt.plugins.autograd.record.views import edge

__all__ = ["Drawing", "draw"]


@dataclass(frozen=True)
class Box:
    """One node of the picture: its lines of text, the first is the title."""

    lines: tuple[str, ...]
    leaf: bool


@dataclass(frozen=True)
class Drawing:
    """A picture of a graph.

    Attributes
    ----------
    dot : str
        The graph in the language of Graphviz.
    svg : str
        The picture; notebooks show it.
    """

    dot: str
    svg: str

    def save(self, path: str) -> None:
        """Write the picture to a file: SVG, or DOT for a name that ends so."""
        if not path.endswith((".svg", ".dot", ".gv")):
            raise errors.ValueRangeError(f"the name of a drawing ends in .svg, .dot or .gv: {path!r}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg if path.endswith(".svg") else self.dot)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.dot


def draw(
    tensor: Any, names: Mapping[str, Any] | None = None, *, saved: bool = True, limit: int = 500
) -> Drawing:
    r"""Draw the graph that leads to a tensor, with what each node saved and how large it is.

    Parameters
    ----------
    tensor : Tensor or sequence of Tensor
        Where the graph ends.
    names : mapping of str to Tensor, optional
        Names of leaves, for instance `dict(model.named_parameters())`.
    saved : bool
        Whether to show the saved values of nodes.
    limit : int
        How many nodes to draw at most.

    Returns
    -------
    Drawing
        With `.dot` and `.svg`.

    Raises
    ------
    GradientError
        When a tensor has no history.
    ValueRangeError
        When the graph has more nodes than `limit`.

    Examples
    --------
    >>> import tt
    >>> w = tt.ones(2, requires_grad=True)
    >>> drawing = tt.autograd.draw((w * w).sum(), {"w": w})
    >>> print(drawing.dot)
    digraph autograd {
      rankdir=BT; node [shape=box, fontname="sans-serif"];
      n0 [label="SumBackward0\nself_shape: (2,)"];
      n1 [label="MulBackward0\nother: float32 [2], 8 B\nself: float32 [2], 8 B"];
      n2 [label="w\nfloat32 [2], 8 B", style=filled, fillcolor="#cfe8ff"];
      n1 -> n0;
      n2 -> n1;
      n2 -> n1;
    }
    """
    tensors = [tensor] if isinstance(tensor, TensorBase) else list(tensor)
    for each in tensors:
        if not isinstance(each, TensorBase):
            raise errors.ArgumentError("draw", f"takes tensors, not {errors.describe(each)}")
        if not each._keys & STATE.bit:
            raise errors.GradientError("a tensor without a history has no graph to draw")
    nodes = _collect([edge(t)[0] for t in tensors], limit)
    named = {id(edge(t)[0]): name for name, t in (names or {}).items() if t._keys & STATE.bit}
    boxes = [_box(node, named.get(id(node)), saved) for node in nodes]
    index = {node: i for i, node in enumerate(nodes)}
    arrows = [
        (index[following], index[node])
        for node in nodes
        for following in node.next_nodes
        if following is not None
    ]
    return Drawing(_dot(boxes, arrows), _svg(boxes, arrows))


def _collect(roots: Sequence[Node], limit: int) -> list[Node]:
    """Return the nodes in descending order of their sequence: each before its successors."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for following in stack.pop().next_nodes:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
        # While collecting, as a graph without end in sight would fill the memory first.
        if len(seen) > limit:
            raise errors.ValueRangeError(
                f"the graph has more than {limit} nodes, which no picture shows well; "
                "draw an earlier tensor, or give a higher limit="
            )
    return sorted(seen, key=lambda node: -node.sequence)


# --- text of a box -------------------------------------------------------------------------------------------


def _box(node: Node, name: str | None, saved: bool) -> Box:
    if isinstance(node, AccumulateGrad):
        leaf = node.variable
        size = _size(leaf) if leaf is not None else f"{node.spec.dtype.name} {list(node.shape)}"
        return Box((name or "leaf", size), True)
    return Box((node.name(), *(_saved_lines(node) if saved else ())), False)


def _saved_lines(node: Node) -> Iterator[str]:
    if isinstance(node, OpNode):
        names = [name.removeprefix("_saved_") for name in attribute_names(node)]
        if node.saved is None:
            yield "saved tensors freed"
            return
        for name, value in zip(names, node.saved, strict=True):
            if isinstance(value, TensorBase):
                yield f"{name}: {_size(value)}"
            elif isinstance(value, Packed):
                yield f"{name}: packed"
            elif isinstance(value, list | tuple) and any(isinstance(v, TensorBase) for v in value):
                yield f"{name}: {len(value)} tensors"
            else:
                yield f"{name}: {_shortened(value)}"
        return
    holder = getattr(node, "_saved", None)
    if isinstance(holder, SavedTensors) and not holder.released:
        for slot, value in enumerate(holder.get(None)):
            if value is not None:
                yield f"saved {slot}: {_size(value)}"


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _size(tensor: Any) -> str:
    return f"{tensor.dtype.name} {list(tensor.shape)}, {_bytes(tensor.numel() * tensor.dtype.itemsize)}"


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


# --- DOT -------------------------------------------------------------------------------------------------------


def _dot(boxes: Sequence[Box], arrows: Sequence[tuple[int, int]]) -> str:
    lines = ["digraph autograd {", '  rankdir=BT; node [shape=box, fontname="sans-serif"];']
    for i, box in enumerate(boxes):
        # Backslashes first: those that escape quotes must stay single.
        text = "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in box.lines)
        style = ', style=filled, fillcolor="#cfe8ff"' if box.leaf else ""
        lines.append(f'  n{i} [label="{text}"{style}];')
    lines += [f"  n{source} -> n{target};" for source, target in arrows]
    return "\n".join([*lines, "}"])


# --- SVG -------------------------------------------------------------------------------------------------------

# In pixels; so wide is a character of a monospaced font of 12.
LINE, PAD, GAP_X, GAP_Y, CHARACTER = 16, 8, 24, 40, 7.2


def _rows(count: int, arrows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the boxes row by row, results first; each is below everything that it leads to."""
    depth = [0] * count
    targets: dict[int, list[int]] = {}
    for source, target in arrows:
        targets.setdefault(source, []).append(target)
    for i in range(count):  # boxes come before those that lead to them
        depth[i] = max((depth[t] + 1 for t in targets.get(i, ())), default=0)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for i in range(count):
        rows[depth[i]].append(i)
    column = {i: float(x) for row in rows for x, i in enumerate(row)}
    for row in rows[1:]:
        # Every box below the first row leads to one above it, so there always is a mean.
        row.sort(key=lambda i: sum(column[t] for t in targets[i]) / len(targets[i]))
        column.update({i: float(x) for x, i in enumerate(row)})
    return rows


def _svg(boxes: Sequence[Box], arrows: Sequence[tuple[int, int]]) -> str:
    widths = [max(len(line) for line in box.lines) * CHARACTER + 2 * PAD for box in boxes]
    heights = [len(box.lines) * LINE + 2 * PAD for box in boxes]
    rows = _rows(len(boxes), arrows)
    total = max(sum(widths[i] for i in row) + GAP_X * (len(row) + 1) for row in rows)
    at: dict[int, tuple[float, float]] = {}
    y = float(GAP_X)
    for row in rows:
        x = (total - sum(widths[i] for i in row) - GAP_X * (len(row) - 1)) / 2
        for i in row:
            at[i] = (x, y)
            x += widths[i] + GAP_X
        y += max(heights[i] for i in row) + GAP_Y
    height = y - GAP_Y + GAP_X
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {total:.0f} {height:.0f}" font-family="monospace" font-size="12" role="img">',
        "<title>autograd graph</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>',
        f'<rect width="{total:.0f}" height="{height:.0f}" fill="#fff"/>',
    ]
    for source, target in arrows:
        x1, y1 = at[source][0] + widths[source] / 2, at[source][1]
        x2, y2 = at[target][0] + widths[target] / 2, at[target][1] + heights[target]
        middle = (y1 + y2) / 2
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f} C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}" '
            'fill="none" stroke="#555" marker-end="url(#arrow)"/>'
        )
    for i, box in enumerate(boxes):
        x, y = at[i]
        fill = "#cfe8ff" if box.leaf else "#f4f4f4"
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{widths[i]:.1f}" height="{heights[i]}" rx="4" '
            f'fill="{fill}" stroke="#555"/>'
        )
        for n, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if n == 0 else ""
            # Letters stand on their baseline, some way down the line.
            position = f'x="{x + PAD:.1f}" y="{y + PAD + LINE * (n + 0.8):.1f}"'
            parts.append(f'<text {position} fill="#111"{weight}>{escape(line)}</text>')
    return "\n".join([*parts, "</svg>"])
