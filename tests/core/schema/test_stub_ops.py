"""The stub of `ops` names what `ops` has, with the overloads, forms and signatures that it has."""

import ast
import os

import pytest

from tt.core.dispatch.call.packet import PacketOp
from tt.core.dispatch.registry.registry import ops
from tt.core.schema import stubs
from tt.core.schema.load import loads
from tt.core.schema.stub_ops import ops_stub


@pytest.fixture(scope="module")
def classes():
    text = stubs.stubs()[os.path.join("core", "dispatch", "registry", "typed_ops.pyi")]
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def members(node):
    return {item.target.id: item.annotation.id for item in node.body if isinstance(item, ast.AnnAssign)}


def test_every_operator_in_place_form_and_alias_is_declared(classes):
    declared = members(classes["_ops"])
    for namespace, found in stubs.namespaces().items():
        names = declared if namespace == "tt" else members(classes[declared[namespace]])
        for definition in found:
            assert definition.signature.name in names
            if definition.has_inplace:
                assert f"{definition.signature.name}_" in names
    assert {"multiply", "multiply_", "sparse"} <= set(declared)


def test_what_is_declared_is_there_with_its_overloads(classes):
    for name, annotation in members(classes["_ops"]).items():
        found, declared = getattr(ops, name), classes[annotation]
        if name in ("nested", "sparse"):
            assert all(hasattr(found, member) for member in members(declared))
            continue
        overloads = members(declared)
        assert set(overloads) == (
            {o or "default" for o in found.op_overloads} if isinstance(found, PacketOp) else set()
        )
        calls = [item for item in declared.body if isinstance(item, ast.FunctionDef)]
        assert calls and {call.name for call in calls} == {"__call__"}
        assert len(calls) >= len(overloads)


def test_signatures():
    found = loads("""
schema_version: 1
ops:
- func: f(Tensor self, Tensor|Scalar other) -> Tensor
  kind: other
  variants: [function, inplace]
- func: f.Tensor(Tensor self, int n) -> (Tensor values, Tensor indices)
  kind: other
- func: g(int n, Tensor self) -> Tensor
  kind: other
  variants: [function, out]
""")
    text = ops_stub("", {"tt": [], "mine": found.values()})
    for line in (
        "class _mine_f__default(_Overload):\n"
        "    def __call__(_op, input: TensorBase, other: TensorBase | _Scalar) -> _Tensor: ...\n",
        "class _mine_f(_Packet):\n    default: _mine_f__default\n    Tensor: _mine_f__Tensor\n",
        "    @overload\n    def __call__(_op, input: TensorBase, n: _int) -> _FResult: ...\n",
        "class _FResult(NamedTuple):\n    values: _Tensor\n    indices: _Tensor\n",
        "class _mine_f_(_Overload):\n",
        "    def __call__(_op, n: _int, self: TensorBase, *, out: TensorBase | None = None) -> _Tensor: ...\n",
        "class _mine(Operators):\n    f: _mine_f\n    f_: _mine_f_\n    g: _mine_g\n",
        "class _ops(Operators):\n    mine: _mine\nops: _ops\n",
    ):
        assert line in text, line
