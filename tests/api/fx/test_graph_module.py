"""GraphModule: runs its graph, follows its changes, and is copied, pickled and written."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import tt
from tests.api.fx.test_tracing import Block
from tt import fx


def test_code_follows_the_graph_after_recompile() -> None:
    module = fx.symbolic_trace(lambda x: tt.relu(x))
    for node in module.graph.find_nodes(op="call_function", target=tt.relu):
        node.target = tt.neg
    assert module(tt.tensor(1.0)).item() == 1
    code = module.recompile()
    assert module(tt.tensor(1.0)).item() == -1
    assert "tt.neg(x)" in module.code == code.src


def test_each_module_has_a_class_of_its_own() -> None:
    one, two = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x + 2)
    assert (one(1), two(1)) == (2, 3)
    assert type(one) is not type(two) and isinstance(one, fx.GraphModule)

    class Special(fx.GraphModule):
        pass

    assert isinstance(copy.deepcopy(Special({}, one.graph)), Special)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_compute_the_same(copied: Any) -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(Block(), tt.nn.ReLU()))
    module.meta["note"] = [1]
    new, x = copied(module), tt.randn(2, 3)
    assert (new.code, new.meta) == (module.code, {"note": [1]})
    assert tt.equal(new(x), module(x))
    assert new.graph is not module.graph and new.graph.owning_module is new


def test_a_module_in_its_own_meta_is_copied_once() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    module.meta["self"] = module
    new = copy.deepcopy(module)
    assert new.meta["self"] is new


def test_a_graph_that_belongs_to_a_module_is_copied_for_another() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    other = fx.GraphModule({}, module.graph)
    assert other.graph is not module.graph
    with pytest.raises(TypeError, match="takes a Graph"):
        module.graph = "graph"  # type: ignore[assignment]


def test_attributes_come_from_a_module_or_a_dict() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    weight = graph.get_attr("inner.weight")
    graph.output(graph.call_module("inner.act", (graph.call_function(tt.mul, (x, weight)),)))
    module = fx.GraphModule({"inner.weight": tt.tensor(-2.0), "inner.act": tt.nn.ReLU()}, graph)
    assert module(tt.tensor(-3.0)).item() == 6
    assert "inner.weight" in module.state_dict()
    with pytest.raises(RuntimeError, match=r"Node target inner\.weight"):
        fx.GraphModule({"inner.act": tt.nn.ReLU()}, graph)
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root"):
        fx.GraphModule(3, graph)  # type: ignore[arg-type]


def test_submodules_are_added_and_deleted() -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(tt.nn.Linear(2, 2), tt.nn.ReLU()))
    assert module.add_submodule("a.b.c", tt.nn.Tanh())
    assert isinstance(module.get_submodule("a.b.c"), tt.nn.Tanh)
    assert not module.delete_submodule("a.x")
    assert module.delete_submodule("a.b.c")
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules() if name] == ["0", "1"]


def test_errors_say_the_line_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    module = fx.symbolic_trace(lambda x: x + "text")
    with pytest.raises(TypeError):
        module(3)
    printed = capsys.readouterr().err
    assert (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function" in printed
    )
    assert "add = x + 'text'" in printed
    assert "add = x" in inspect.getsource(type(module).forward)


def test_a_folder_has_the_module_to_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(tt.nn.Linear(3, 2), Block2()))
    module.to_folder(tmp_path / "written", "Net")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        net, x = importlib.import_module("written").Net(), tt.randn(1, 3)
        assert tt.equal(net(x), module(x))
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "written"]:
            del sys.modules[name]


class Block2(tt.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = tt.nn.Parameter(tt.randn(2))

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return x * self.weight


def test_hooks_see_changes_of_the_graph() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    created: list[fx.Node] = []
    erased: list[fx.Node] = []
    replaced: list[tuple[str, str]] = []
    module._register_create_node_hook(created.append)
    module._register_erase_node_hook(erased.append)
    with module._set_replace_hook(lambda old, new, user: replaced.append((old.name, new))):
        x, add, _ = module.graph.nodes
        with module.graph.inserting_after(x):
            new = module.graph.call_function(tt.neg, (x,))
        add.replace_all_uses_with(new)
        module.graph.erase_node(add)
    assert (created, erased, replaced) == ([new], [add], [("add", "neg")])


def test_training_mode_and_buffers_are_the_module_s() -> None:
    root = tt.nn.Sequential(tt.nn.BatchNorm1d(2), tt.nn.Dropout(0.5)).eval()
    module = fx.symbolic_trace(root)
    assert not module.training
    x = tt.randn(4, 2)
    assert tt.equal(module(x), root(x))
    module.train()
    module(x)
    assert root[0].num_batches_tracked.item() == 1
