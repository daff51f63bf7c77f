"""Layers see a call before the kernels, in their order; what has no rule decomposes, passes or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.errors import NoKernelError
from tt.core.library import REGISTRY, CompositeTable, Layer, ops


class Recorder(Layer):
    """Notes the calls that it has a rule for."""

    def __init__(self, name: str, order: int, rules: tuple[str, ...], passes: tuple[str, ...] = ()) -> None:
        self.name, self.order = name, order
        self.rules, self.passes, self.seen = rules, passes, []  # type: ignore[var-annotated]
        super().__init__()

    def rule(self, operator: Any, form: str) -> Any:
        if operator.name not in self.rules:
            return None

        def rule(entry: Any, args: tuple[Any, ...]) -> Any:
            self.seen.append((entry.operator.name, entry.form))
            result = entry.call_below(args)
            assert entry.form == "inplace" or not result._keys & self.bit
            result._keys |= self.bit
            return result

        return rule

    def passes_through(self, operator: Any, form: str) -> bool:
        return operator.name in self.passes


@pytest.fixture
def layers() -> Iterator[Any]:
    handles = []

    def make(*args: Any, **kwargs: Any) -> Recorder:
        layer = Recorder(*args, **kwargs)
        handles.append(REGISTRY.add_layer(layer))
        return layer

    yield make
    for handle in handles:
        handle.remove()


@pytest.fixture
def x(probe: Any) -> Any:
    probe.kernel("mul", np.multiply)
    probe.kernel("add", np.add)
    return probe.tensor([1.0, 2.0], tt.float32)


def held(tensor: Any, *layers: Recorder) -> Any:
    for layer in layers:
        tensor._keys |= layer.bit
    return tensor


def test_a_rule_runs_for_tensors_that_the_layer_holds_only(layers: Any, x: Any) -> None:
    layer = layers("test_own", 50, ("mul",))
    tt.mul(x, x)
    assert layer.seen == []
    result = tt.mul(held(x, layer), 2.0)
    assert layer.seen == [("mul", "functional")]
    assert result._keys & layer.bit
    assert result._handle.tolist() == [2.0, 4.0]


def test_the_outer_layer_comes_first_and_the_call_goes_down_through_all(layers: Any, x: Any) -> None:
    inner = layers("test_inner", 10, ("mul",))
    outer = layers("test_own", 20, ("mul",))
    order: list[str] = []
    outer.seen, inner.seen = Noting(order, "outer"), Noting(order, "inner")
    tt.mul(held(x, inner, outer), x)
    assert order == ["outer", "inner"]


class Noting(list):  # type: ignore[type-arg]
    def __init__(self, log: list[str], name: str) -> None:
        super().__init__()
        self.log, self.name = log, name

    def append(self, item: Any) -> None:
        self.log.append(self.name)


def test_without_a_rule_the_composite_runs_and_its_parts_meet_the_layer(
    layers: Any, probe: Any, x: Any
) -> None:
    layer = layers("test_own", 50, ("mul",))
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, self))
    probe.add(table)
    result = tt.exp(held(x, layer))
    assert layer.seen == [("mul", "functional")]
    assert result._handle.tolist() == [1.0, 4.0]


def test_a_rule_goes_before_the_composite_which_below_does_not_meet_the_layer(
    layers: Any, probe: Any, x: Any
) -> None:
    layer = layers("test_own", 50, ("mul", "exp"))
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, self))
    probe.add(table)
    tt.exp(held(x, layer))
    assert layer.seen == [("exp", "functional")]


def test_a_composite_that_serves_what_a_narrow_kernel_leaves_does_not_meet_the_layer(
    layers: Any, probe: Any, x: Any
) -> None:
    layer = layers("test_own", 50, ("add", "mul"))
    probe.kernel("sub", lambda self, other: np.subtract(self, other))  # not alpha
    table = CompositeTable()
    table.composite("sub", lambda self, other, alpha: ops.add(self, ops.mul(other, -alpha)))
    probe.add(table)
    layer.rules = ("add", "mul", "sub")
    assert tt.sub(held(x, layer), x, alpha=2)._handle.tolist() == [-1.0, -2.0]
    assert layer.seen == [("sub", "functional")]


def test_what_the_layer_lets_pass_goes_below(layers: Any, x: Any) -> None:
    layer = layers("test_own", 50, (), passes=("mul",))
    assert tt.mul(held(x, layer), 3.0)._handle.tolist() == [3.0, 6.0]


def test_what_nothing_serves_is_refused_with_the_layers_name(layers: Any, x: Any) -> None:
    layer = layers("test_own", 50, ())
    with pytest.raises(NoKernelError, match="mul has no rule in the layer 'test_own' and no composite"):
        tt.mul(held(x, layer), 3.0)


def test_in_place_below_a_rule_changes_the_very_tensor(layers: Any, x: Any) -> None:
    layer = layers("test_own", 50, ("mul",))
    held(x, layer)
    assert x.mul_(2.0) is x
    assert layer.seen == [("mul", "inplace")]
    assert (x._handle.tolist(), x._version) == ([2.0, 4.0], 1)


def test_removing_a_layer_invalidates_what_it_decided(probe: Any, x: Any) -> None:
    layer = Recorder("test_own", 50, ("mul",))
    handle = REGISTRY.add_layer(layer)
    tt.mul(held(x, layer), 2.0)
    handle.remove()
    with pytest.raises(ValueError, match="unknown layer 'test_own'"):
        tt.mul(x, 2.0)


@pytest.mark.parametrize("beta", [1, 2])
def test_a_change_below_returns_its_target_where_a_kernel_does_not_take_all_arguments(
    layers: Any, probe: Any, beta: int
) -> None:
    layer = layers("test_own", 50, ("addmm",))
    probe.kernel("addmm", lambda self, mat1, mat2: self + mat1 @ mat2, takes=("self", "mat1", "mat2"))
    probe.kernel("mm", np.matmul)
    probe.kernel("mul", np.multiply)
    probe.kernel("add", np.add)
    probe.kernel("copy", lambda self, src: np.copyto(self, src), form="inplace")
    target = held(probe.tensor([[1.0]], tt.float32), layer)
    three = probe.tensor([[3.0]], tt.float32)
    assert target.addmm_(three, three, beta=beta) is target
    assert layer.seen == [("addmm", "inplace")]
    assert (target._handle.item(), target._version) == (9.0 + beta, 1)
