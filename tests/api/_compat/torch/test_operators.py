"""torch.ops under the facade: namespaces, PyTorch's names of operators, libraries that cannot be loaded."""

from __future__ import annotations

import os
import subprocess
import sysconfig

import pytest

from tests.api._compat.torch.both import same_output, under_facade
from tt._compat.torch.foreign_libraries import needs


@pytest.mark.torch
def test_names_compare_and_print_as_pytorchs(tmp_path):
    same_output(
        """
import torch
aten = torch.ops.aten
print(aten.add.Tensor, aten.add, aten.add.Tensor._schema, aten.add_.Tensor._schema, aten.sum.dim_IntList._schema)
print(aten.add.Tensor.overloadpacket is aten.add, aten.sum.dim_IntList.overloadpacket is aten.sum)
print("Tensor" in aten.add.overloads(), hasattr(aten, "no_such_operator"), hasattr(aten.add, "no_such_overload"))
x = torch.arange(6.0).reshape(2, 3)
print(aten.add.Tensor(x, x), aten.add(x, 1), aten.sum.dim_IntList(x, [0]), aten.add(x, x, out=torch.empty(2, 3)))
print(aten.slice.Tensor(x, 1, 0, 2), aten.view.default(x, [3, 2]), aten.mm.default(x, x.t()), aten.sym_size.int(x, 1))
print(aten._softmax.default(x, 1, False), aten.convolution.default(
    x.reshape(1, 2, 3), torch.ones(1, 2, 2), None, [1], [0], [1], False, [0], 1))
print(aten.mul_.Tensor(x.clone(), x), aten.clone.default(x).sum(), aten.where.self(x > 2, x, -x))
print(torch.ops.prim.device.default(x))
schema = aten.sum.dim_IntList._schema
print(schema.name, schema.overload_name, [str(a.type) for a in schema.arguments])
print([a.kwarg_only for a in schema.arguments])
print([a.default_value for a in schema.arguments], [a.has_default_value() for a in schema.arguments])
print(aten.add_.Tensor._schema.arguments[0].alias_info.is_write, aten.add.out._schema.arguments[-1].is_out)
""",
        tmp_path,
    )


@pytest.mark.torch
def test_a_mode_compares_operators_with_pytorchs_names(tmp_path):
    printed = under_facade(
        """
import torch
import tt
aten = torch.ops.aten
table = {aten.add.Tensor: "add", aten.mul_.Tensor: "mul_", aten.mm.default: "mm", aten.t.default: "t"}

class Log(tt.library.TTDispatchMode):
    def __tt_dispatch__(self, func, types, args=(), kwargs=None):
        print(table.get(func, "other"), func, func.overloadpacket is aten.add, func._schema.name)
        return func(*args, **(kwargs or {}))

x = torch.ones(2, 2)
with Log():
    x + x
    x.mul_(x)
    torch.mm(x, x)
    x.t()
    x.sum(0)
""",
        tmp_path,
    )
    assert printed.splitlines() == [
        "add aten.add.Tensor True aten::add",
        "mul_ aten.mul_.Tensor False aten::mul_",
        "mm aten.mm.default False aten::mm",
        "t aten.t.default False aten::t",
        "other aten.sum.dim_IntList False aten::sum",
    ]


@pytest.mark.skipif(os.name == "nt", reason="builds a library with cc")
def test_libraries_built_against_pytorch_say_what_they_need(tmp_path):
    source = tmp_path / "foreign.c"
    source.write_text(
        "extern int aoti_torch_get_something(void);\nint PyInit_foreign(void) { return aoti_torch_get_something(); }\n"
    )
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    stand_in, foreign = tmp_path / "libtorch_stand_in.so", tmp_path / f"foreign{suffix}"
    empty = tmp_path / "empty.c"
    empty.write_text("int aoti_torch_get_something(void) { return 0; }\n")
    compiler = ["cc", "-shared", "-fPIC"]
    try:
        subprocess.run([*compiler, empty, "-o", stand_in, "-Wl,-soname,libtorch_stand_in.so"], check=True)
        subprocess.run([*compiler, source, "-o", foreign, "-L", tmp_path, "-ltorch_stand_in"], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    plain = tmp_path / "plain.c"
    plain.write_text("int plain(void) { return 1; }\n")
    subprocess.run([*compiler, plain, "-o", tmp_path / "plain.so"], check=True)
    assert needs(str(foreign)) == ("libtorch_stand_in.so", "aoti_torch_get_something")
    printed = under_facade(
        f"""
import sys
import torch
for path in ({str(foreign)!r}, "absent.so"):
    try:
        torch.ops.load_library(path)
    except OSError as error:
        print(error)
try:
    import foreign
except ImportError as error:
    print(error, error.name)
print(torch.ops.load_library({str(tmp_path / "plain.so")!r}), len(torch.ops.loaded_libraries))
""",
        tmp_path,
    )
    lines = printed.splitlines()
    for line in (lines[1], lines[3]):
        assert "needs libtorch_stand_in.so (its symbol aoti_torch_get_something" in line
    assert lines[2] == "Could not load this library: absent.so"
    assert lines[-1] == "None 1"
