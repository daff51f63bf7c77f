"""Graphs: nodes know their users, stand in order, and change as a whole or not at all."""

from __future__ import annotations

import copy
import gc
import itertools
import operator
import pickle

import pytest

import tt
from tt import fx


def chain(length: int) -> fx.Graph:
    graph = fx.Graph()
    node = graph.placeholder("x")
    for _ in range(length):
        node = graph.call_function(tt.neg, (node,))
    graph.output(node)
    return graph


def test_nodes_know_what_they_use_and_who_uses_them() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    z = graph.call_function(tt.cat, ([x, (y, x)],), {"dim": {"a": y}})
    assert z.all_input_nodes == [x, y]
    assert list(x.users) == list(y.users) == [z]
    z.args = ([x],)
    assert list(y.users) == [z]  # by keyword still
    z.kwargs = {}
    assert not y.users
    z.update_arg(0, y)
    assert (list(x.users), list(y.users)) == ([], [z])
    z.insert_arg(0, 1)
    z.update_kwarg("dim", x)
    assert (z.args, z.kwargs, list(x.users)) == ((1, y), {"dim": x}, [z])


@pytest.mark.parametrize("change", [
    lambda args: args[0].append(1), lambda args: args[0].__setitem__(0, 1), lambda args: args[1].update(a=1),
    lambda args: args[1].pop("a"),
])  # fmt: skip
def test_arguments_are_not_changed_behind_the_node(change: object) -> None:
    graph = fx.Graph()
    node = graph.call_function(tt.add, ([1, 2], {"a": 1}))
    with pytest.raises(TypeError, match="does not support mutation"):
        change(node.args)  # type: ignore[operator]
    assert node.args == ([1, 2], {"a": 1})


def test_what_is_no_argument_leaves_a_node_as_it_was() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(tt.neg, (x,))
    with pytest.raises(TypeError, match="arguments are a tuple"):
        node.args = 3  # type: ignore[assignment]
    assert (node.args, list(x.users)) == ((x,), [node])


def test_nodes_are_inserted_where_a_block_says_and_compare_by_their_order() -> None:
    graph = chain(3)
    first, *_, output = graph.nodes
    with graph.inserting_before(output):
        last = graph.call_function(tt.abs, (first,))
        with graph.inserting_after(first):
            second = graph.call_function(tt.exp, (first,))
    third = graph.call_function(tt.sin, (first,))  # at the end again
    nodes = list(graph.nodes)
    assert nodes.index(second) == 1
    assert nodes.index(last) == len(nodes) - 3
    assert nodes[-1] is third
    assert nodes == sorted(nodes)
    assert list(reversed(graph.nodes)) == nodes[::-1]


def test_order_holds_however_often_nodes_are_put_between_two() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    for turn in range(50):
        with graph.inserting_before(y) if turn % 3 else graph.inserting_after(x):
            graph.call_function(tt.neg, (x,))
    for node in list(graph.nodes)[::7]:
        y.append(node)
    nodes = list(graph.nodes)
    assert len(nodes) == len(graph.nodes) == 52
    assert all(left < right and right > left and left <= left for left, right in itertools.pairwise(nodes))


def test_erasing_needs_a_node_without_users_of_this_graph() -> None:
    graph = chain(2)
    first, second, _, _ = graph.nodes
    with pytest.raises(RuntimeError, match="Tried to erase Node neg but it still had 1 users in the graph"):
        graph.erase_node(second)
    dead = graph.call_function(tt.exp, (first,))
    with pytest.raises(RuntimeError, match="from wrong graph"):
        chain(1).erase_node(dead)
    graph.erase_node(dead)
    assert dead not in list(graph.nodes) and dead not in first.users
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(dead)


def test_dead_code_goes_and_what_has_an_effect_stays() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.placeholder("unused")
    graph.call_function(tt.exp, (graph.call_function(tt.neg, (x,)),))
    kept = [
        graph.call_method("add_", (x, 1)),
        graph.call_function(tt.relu, (x,), {"inplace": True}),
        graph.call_function(tt.add, (x, 1), {"out": x}),
        graph.call_function(operator.setitem, (x, 0, 1)),
        graph.call_function(tt.rand, (3,)),
        graph.call_function(tt.Tensor.mul_, (x, 2)),
    ]
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert [node for node in graph.nodes if node.op.startswith("call")] == kept
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    assert len(graph.nodes) == 3


def test_lint_names_what_is_wrong() -> None:
    graph = chain(2)
    _first, second, third, _ = graph.nodes
    third.append(second)
    with pytest.raises(
        RuntimeError, match="Argument 'neg' of Node 'neg_1' was used before it has been defined"
    ):
        graph.lint()
    second.prepend(third)
    third.args = (next(iter(chain(1).nodes)),)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        graph.lint()


def test_lint_looks_for_attributes_in_the_module() -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(tt.nn.Linear(2, 2)))
    module.graph.lint()
    node = module.graph.find_nodes(op="call_module")[0]
    node.target = "nowhere.else"
    with pytest.raises(RuntimeError, match="references nonexistent attribute nowhere"):
        module.graph.lint()
    with pytest.warns(UserWarning, match="no underlying reference in the owning GraphModule"):
        module.graph.call_module("nowhere")
    with pytest.warns(UserWarning, match="no underlying reference in the owning GraphModule"):
        module.graph.get_attr("nowhere")


def test_nodes_of_other_kinds_and_targets_are_refused() -> None:
    graph = fx.Graph()
    with pytest.raises(AssertionError, match="'call' is not in _legal_ops"):
        graph.create_node("call", "x")
    with pytest.raises(ValueError, match="but a Callable is expected"):
        graph.create_node("call_function", "x")
    with pytest.raises(ValueError, match="but a str is expected"):
        graph.create_node("call_method", tt.add)
    with pytest.raises(AssertionError, match="args must be a tuple"):
        graph.call_function(tt.add, [1, 2])  # type: ignore[arg-type]
    assert len(graph.nodes) == 0


def test_all_uses_of_a_node_go_to_another() -> None:
    graph = chain(1)
    x, node, output = graph.nodes
    user = graph.call_function(tt.add, (node, [node]))
    with graph.inserting_after(node):
        other = graph.call_function(tt.exp, (x,))
    assert node.replace_all_uses_with(other, lambda user: user.op != "output") == [user]
    assert (user.args, output.args) == ((other, [other]), (node,))
    node.meta["val"] = 3
    assert node.replace_all_uses_with(other, propagate_meta=True) == [output]
    assert other.meta == {"val": 3} and not node.users
    with pytest.raises(AssertionError, match=r"already has \.meta keys"):
        node.replace_all_uses_with(other, propagate_meta=True)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_copies_have_nodes_of_their_own(copied: object) -> None:
    graph = chain(3)
    list(graph.nodes)[1].kwargs = {"out": None}
    new: fx.Graph = copied(graph)  # type: ignore[operator]
    assert str(new) == str(graph)
    assert not set(new.nodes) & set(graph.nodes)
    new.lint()
    assert new.call_function(tt.neg, ()).name == "neg_3"  # names that are taken are known


def test_long_graphs_are_copied_written_and_freed() -> None:
    graph = chain(20_000)
    new = pickle.loads(pickle.dumps(copy.deepcopy(graph)))
    assert new.python_code("self").src.count("\n") > 20_000
    del graph, new
    gc.collect()


def test_a_graph_is_copied_into_another() -> None:
    graph, other = fx.Graph(), chain(2)
    x = graph.placeholder("input")
    result = graph.graph_copy(other, {next(iter(other.nodes)): x})
    assert isinstance(result, fx.Node)
    graph.output(result)
    assert fx.GraphModule({}, graph)(tt.tensor(3.0)).item() == 3.0


def test_classes_of_the_user_write_code() -> None:
    class Doubled(fx.CodeGen):
        def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
            return super().gen_fn_def(free_vars, maybe_return_annotation) + "\n    x = twice(x)"

        def additional_globals(self) -> list[tuple[str, object]]:
            return [("twice", lambda value: value * 2)]

        def generate_output(self, output_args: object) -> str:  # type: ignore[override]
            return f"return [{output_args!r}]"

    module = fx.symbolic_trace(lambda x: x + 1)
    module.graph.set_codegen(Doubled())
    module.recompile()
    assert module(3) == [7]


def test_the_lines_of_the_body_can_be_changed() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)

    def insert(before: object) -> object:
        return lambda body: ["seen.append(x)\n", *body]

    seen: list[int] = []
    with module.graph.on_generate_code(insert):  # type: ignore[arg-type]
        code = module.graph.python_code("self").src
    assert "    seen.append(x)\n" in code
    assert "seen" not in module.graph.python_code("self").src
    assert not seen
