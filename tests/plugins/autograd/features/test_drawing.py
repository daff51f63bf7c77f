"""Pictures of the graph."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tt
from tt.autograd import draw


def graph() -> tuple[tt.Tensor, tt.Tensor]:
    w = tt.ones(2, 3, requires_grad=True)
    return (w * w.sum(0)).softmax(1).log().sum(), w


def test_the_picture_shows_every_node_with_what_it_saved() -> None:
    y, w = graph()
    drawing = draw(y, {"w": w})
    assert 'label="w\\nfloat32 [2, 3], 24 B", style=filled' in drawing.dot
    assert "SoftmaxBackward0\\nresult: float32 [2, 3], 24 B\\ndim: 1" in drawing.dot
    assert str(drawing) == drawing.dot
    root = ElementTree.fromstring(drawing.svg)
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"LogBackward0", "w", "SumBackward0"} <= set(texts)
    boxes = list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
    paths = list(root.iter("{http://www.w3.org/2000/svg}path"))[1:]
    assert len(boxes) == drawing.dot.count("[label=") and len(paths) == drawing.dot.count("->")


def test_boxes_do_not_overlap() -> None:
    root = ElementTree.fromstring(draw(graph()[0]).svg)
    boxes = [
        tuple(float(b.get(k) or 0) for k in ("x", "y", "width", "height"))
        for b in list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
    ]
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[i + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_freed_and_packed_tensors_are_said() -> None:
    y, _ = graph()
    y.backward()
    assert "saved tensors freed" in draw(y).dot
    x = tt.ones(2, requires_grad=True)
    with tt.autograd.graph.save_on_cpu():
        y = x.exp()
    assert "result: packed" in draw(y).dot
    assert "self" not in draw(x.exp(), saved=False).dot


def test_it_is_saved_by_the_ending_of_the_name(tmp_path: Path) -> None:
    drawing = draw(graph()[0])
    drawing.save(str(tmp_path / "graph.svg"))
    drawing.save(str(tmp_path / "graph.dot"))
    assert (tmp_path / "graph.svg").read_text() == drawing.svg
    assert (tmp_path / "graph.dot").read_text() == drawing.dot
    with pytest.raises(ValueError, match=r"\.svg"):
        drawing.save(str(tmp_path / "graph.png"))


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(TypeError, match="takes tensors"):
        draw([1])
    with pytest.raises(tt.errors.GradientError, match="no graph"):
        draw(tt.ones(1))
    x = tt.ones(1, requires_grad=True)
    for _ in range(20):
        x = x * 2
    with pytest.raises(ValueError, match="more than 10 nodes"):
        draw(x, limit=10)


def test_a_notebook_shows_the_picture_and_names_are_text_in_it() -> None:
    y, w = graph()
    drawing = draw(y, {"<script>&": w})
    assert drawing._repr_svg_() == drawing.svg and "<script" not in drawing.svg
    texts = [t.text for t in ElementTree.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>&" in texts
