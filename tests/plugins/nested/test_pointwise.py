"""Operators of other packages that treat each element alone run on the values of jagged tensors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.nested.batches import assert_same, batch_of, rows_of, weighted, with_gaps
from tt.core.library import REGISTRY, KernelTable, Provider, scoped
from tt.library import Library, custom_op
from tt.plugins.nested.pointwise import function_of_others

YAML = """
schema_version: 1
namespace: others
ops:
- func: blend(Tensor self, Tensor|Scalar other, *, float weight=0.5) -> Tensor
  kind: pointwise
  promote: [self, other]
  meta: broadcast
  dtypes: floating
  variants: [function, inplace, out]
  grad: [self, other]
  doc: Mixes two tensors.
"""


@pytest.fixture(autouse=True)
def scope() -> Any:
    with scoped():
        yield


def cube_op() -> Any:
    @custom_op("others::cube", tags="pointwise")
    def cube(x: tt.Tensor) -> tt.Tensor: ...

    @cube.kernel("cpu")
    def on_cpu(x: Any) -> Any:
        assert isinstance(x, np.ndarray)
        return np.power(x, 3)

    @cube.fake
    def without_data(x: Any) -> Any:
        return tt.empty_like(x)

    return cube


@pytest.fixture(params=["kernel", "composite"])
def blend(request: Any, tmp_path: Any) -> Any:
    """Return an operator of a YAML file with a kernel or a composite."""
    file = tmp_path / "ops.yaml"
    file.write_text(YAML)
    library = Library("others", "FRAGMENT")
    library.load(file)
    device = "cpu" if request.param == "kernel" else "default"
    library.impl("blend", lambda self, other, weight=0.5: self + weight * (other - self), device)
    return tt.ops.others.blend


def test_a_kernel_runs_on_the_values() -> None:
    cube = cube_op()
    rows = rows_of()
    assert_same(cube(batch_of(rows)), [row**3 for row in rows])
    gaps, parts = with_gaps()
    assert_same(cube(gaps), [row**3 for row in parts])


def test_dense_operands_and_numbers_broadcast(blend: Any) -> None:
    rows, others = rows_of(), rows_of(seed=1)
    x, y = batch_of(rows), batch_of(others)
    dense = tt.tensor(np.linspace(1, 2, 3))
    assert_same(blend(x, y), [(a + b) / 2 for a, b in zip(rows, others, strict=True)])
    assert_same(blend(x, 3.0, weight=0.25), [a + 0.25 * (3 - a) for a in rows])
    assert_same(blend(x, dense), [(a + dense) / 2 for a in rows])
    assert_same(blend(dense, x), [(a + dense) / 2 for a in rows])
    assert blend(batch_of(rows_of(dtype=tt.float32)), y).dtype is tt.float64


def test_forms_in_place_and_with_out(blend: Any) -> None:
    rows, others = rows_of(), rows_of(seed=1)
    wanted = [(a + b) / 2 for a, b in zip(rows, others, strict=True)]
    x, y = batch_of(rows).clone(), batch_of(others)
    version, values = x._version, x.values()
    assert tt.ops.others.blend_(x, y) is x
    assert_same(x, wanted)
    assert x._version > version and values.data_ptr() == x.values().data_ptr()
    out = tt.zeros_like(x)
    blend(batch_of(rows), y, out=out)
    assert_same(out, wanted)
    gaps, _ = with_gaps()
    tt.ops.others.blend_(gaps, 1.0)
    assert_same(gaps, [(row + 1) / 2 for row in with_gaps()[1]])


def test_rows_of_different_lengths_are_refused(blend: Any) -> None:
    with pytest.raises(tt.errors.ShapeError, match="their rows differ in length"):
        blend(batch_of(rows_of()), batch_of(rows_of(sizes=(1, 2, 3))))


@pytest.mark.parametrize("form", ["functional", "inplace"])
def test_gradients_are_those_of_the_composite(tmp_path: Any, form: str) -> None:
    file = tmp_path / "ops.yaml"
    file.write_text(YAML)
    library = Library("others", "FRAGMENT")
    library.load(file)
    library.impl("blend", lambda self, other, weight=0.5: self * self + weight * other, "default")

    def grads(nested: bool) -> Any:
        one, two = ([row.requires_grad_() for row in rows_of(seed=k)] for k in range(2))
        if nested:
            x, y = tt.nested.as_nested_tensor(one), tt.nested.as_nested_tensor(two)
            if form == "inplace":
                x = x * 1
                tt.ops.others.blend_(x, y)
                found = list(x.unbind())
            else:
                found = list(tt.ops.others.blend(x, y).unbind())
        else:
            found = [a * a + 0.5 * b for a, b in zip(one, two, strict=True)]
        weighted(found).backward()
        return [row.grad for row in one + two]

    for one, other in zip(grads(True), grads(False), strict=True):
        tt.testing.assert_close(one, other)


def test_formulas_get_strided_tensors() -> None:
    cube = cube_op()
    seen = []

    @cube.backward
    def backward(g: Any, x: Any) -> Any:
        seen.append((g.layout, x.layout))
        return 3 * x * x * g

    rows = [row.requires_grad_() for row in rows_of()]
    x = tt.nested.as_nested_tensor(rows)
    weighted(list(cube(x).unbind())).backward()
    alone = [row.detach().requires_grad_() for row in rows]
    weighted([row**3 for row in alone]).backward()
    for one, other in zip(rows, alone, strict=True):
        tt.testing.assert_close(one.grad, other.grad)
    assert set(seen) == {(tt.strided, tt.strided)}


def test_several_results() -> None:
    @custom_op("others::both", tags="pointwise", result=("same", "bool"))
    def both(x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]: ...

    @both.kernel("cpu")
    def on_cpu(x: Any) -> Any:
        return x * 2, x > 1

    rows = rows_of()
    double, large = both(batch_of(rows))
    assert_same(double, [row * 2 for row in rows])
    assert_same(large, [row > 1 for row in rows])


def test_an_operator_defined_before_jagged_tensors_are_used_runs() -> None:
    # In a process of its own: here the plugin is registered already.
    code = (
        "import tt\nfrom tt.library import custom_op\n"
        "@custom_op('others::twice', tags='pointwise')\ndef twice(x: tt.Tensor) -> tt.Tensor:\n    return x + x\n"
        "x = tt.nested.nested_tensor([[1.0], [2.0, 3.0]])\nassert twice(x).values().tolist() == [2, 4, 6]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_kernel_for_jagged_tensors_takes_precedence_whenever_it_is_registered() -> None:
    cube = cube_op()
    x = batch_of(rows_of())
    before = cube(x)
    table = KernelTable("cpu", "jagged")
    table.kernel("others::cube", lambda x: tt.zeros_like(x), tensors=True)
    with REGISTRY.add(table, Provider("others", "1")):
        assert not cube(x).values().any()
        assert function_of_others("others::cube") is None
    tt.testing.assert_close(cube(x).values(), before.values())


def test_other_kinds_and_tts_own_operators_are_left_alone() -> None:
    @custom_op("others::total")
    def total(x: tt.Tensor) -> tt.Tensor: ...

    @total.kernel("cpu")
    def on_cpu(x: Any) -> Any:
        return x.sum()

    assert function_of_others("others::total") is None and function_of_others("sin") is None
    assert function_of_others("others::missing") is None
    with pytest.raises(tt.errors.NoKernelError, match=r"to_padded_tensor\(0\.0\)"):
        total(batch_of(rows_of()))


def test_the_choice_is_explained() -> None:
    cube_op()
    found = str(tt.explain("others::cube", ["cpu/jagged:float64"]))
    assert "generic kernel" in found and "the cpu backend serves it" in found


def test_meta_tensors_have_the_rows_and_the_dtype() -> None:
    found = cube_op()(batch_of(rows_of()).to("meta"))
    assert found.device.type == "meta" and found.shape[1] == batch_of(rows_of()).shape[1]
