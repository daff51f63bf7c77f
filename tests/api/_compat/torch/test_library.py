"""torch.library under the facade: the same programs, with the same results, as under PyTorch."""

from __future__ import annotations

import pytest

from tests.api._compat.torch.both import same_output, under_facade

pytestmark = pytest.mark.torch

IMPORTS = (
    "import torch\nfrom torch import Tensor\nfrom torch.library import *\nfrom torch.library import Library\n"
)


def test_functions_of_a_library_take_tensors_and_pytorchs_schema_types(tmp_path):
    printed = same_output(
        IMPORTS
        + """
lib = Library("progs", "DEF")
print(lib.define("shift(Tensor x, SymInt[2] by=1, *, ScalarType? dtype=None, Device? device=None, "
      "MemoryFormat? memory_format=None, Layout? layout=None, Generator? generator=None) -> Tensor"))
print(lib.define("count(Tensor(a!) x) -> ()"))
print(lib.define("nothing(Tensor x) -> None"))
print(lib.define("scale.by(Tensor x, float by=2.0) -> Tensor"))
seen = []

def shift(x, by=(1, 1), *, dtype=None, device=None, memory_format=None, layout=None, generator=None):
    seen.append((type(x).__name__, list(by), dtype, device))
    return (x + sum(by)).to(dtype) if dtype is not None else x + sum(by)

lib.impl("shift", shift, "CPU")
lib.impl("count", lambda x: [x.add_(1)] and None, "CPU")
lib.impl("nothing", lambda x: seen.append("nothing"), "CompositeExplicitAutograd")
lib.impl("scale.by", lambda x, by=2.0: x * by, "CPU")
x = torch.ones(2)
print(torch.ops.progs.shift(x), torch.ops.progs.shift.default(x, [2, 3], dtype=torch.float64).tolist())
print(torch.ops.progs.count(x), x, torch.ops.progs.nothing(x), seen)
print(torch.ops.progs.scale(x), torch.ops.progs.scale.by(x, 5.0), torch.ops.progs.scale.overloads())
print(torch.ops.progs.shift.default._schema.name, [a.name for a in torch.ops.progs.shift.default._schema.arguments])
print(torch.ops.progs.count.default._schema, torch.ops.progs.count.default._schema.is_mutable)
print(torch.ops.progs.shift.default, torch.ops.progs.scale.by)
print(hasattr(torch.ops.progs, "absent"), hasattr(torch.ops.torchvision_of_nobody, "nms"))
""",
        tmp_path,
    )
    assert "tensor([3., 3.])" in printed


def test_a_custom_operator_with_every_registration(tmp_path):
    same_output(
        IMPORTS
        + """
@custom_op("progs::doubled", mutates_args=(), device_types="cpu")
def doubled(x: Tensor, by: float = 2.0) -> Tensor:
    return torch.from_numpy(x.detach().numpy() * by)

@doubled.register_fake
def _(x, by=2.0):
    return torch.empty_like(x)

def setup(ctx, inputs, output):
    ctx.by = inputs[1]

doubled.register_autograd(lambda ctx, gradient: (gradient * ctx.by, None), setup_context=setup)

@doubled.register_vmap
def _(info, in_dims, x, by=2.0):
    return doubled(x, by), in_dims[0]

x = torch.arange(3.0, requires_grad=True)
doubled(x, 3.0).sum().backward()
print(x.grad, doubled(torch.ones(2)), torch.ops.progs.doubled.default(torch.ones(2), 4.0))
print(torch.ops.progs.doubled(torch.ones(2, 3, device="meta")).shape, torch.vmap(doubled)(torch.ones(2, 2)))
print(sorted(torch.library.opcheck(doubled, (torch.randn(3, requires_grad=True),)).values())[0])
doubled.register_kernel("cpu", lambda x, by=2.0: x.detach() + by)
print(doubled(torch.ones(2)))
def function(x: Tensor, n: int, s: str = "a", *, by: float = 1.0) -> Tensor: ...
print(infer_schema(function, mutates_args=()).count("Tensor"))
""",
        tmp_path,
    )


def test_scoped_libraries_and_functions_by_name(tmp_path):
    same_output(
        IMPORTS
        + """
with torch.library._scoped_library("progs", "FRAGMENT") as lib:
    torch.library.define("progs::halved", "(Tensor x) -> Tensor", lib=lib)

    @torch.library.impl("progs::halved", "cpu", lib=lib)
    def halved(x):
        return x / 2

    @torch.library.register_fake("progs::halved", lib=lib)
    def _(x):
        return x.new_empty(x.shape)

    torch.library.register_autograd("progs::halved", lambda ctx, g: g / 2, lib=lib)
    x = torch.ones(2, requires_grad=True)
    torch.ops.progs.halved(x).sum().backward()
    print(x.grad, torch.ops.progs.halved(torch.ones(3, device="meta")).shape)

    @torch.library.register_kernel("progs::halved", "cuda", lib=lib)
    def _(x):
        return x
    print(torch.ops.progs.halved(torch.ones(1)))
""",
        tmp_path,
    )


def test_a_fake_may_come_before_the_operator_or_stay_alone(tmp_path):
    # PyTorch refuses; packages whose compiled part could not be loaded register fakes nevertheless.
    printed = under_facade(
        IMPORTS
        + """
@register_fake("progs::early")
def _(x):
    return x.new_empty(7)

register_fake("progs::never", lambda x: x)
print(hasattr(torch.ops.progs, "early"))
define("progs::early", "(Tensor x) -> Tensor")
impl("progs::early", "cpu", lambda x: x.new_zeros(7))
print(torch.ops.progs.early(torch.ones(2, device="meta")).shape, torch.ops.progs.early(torch.ones(1)).shape)
print(hasattr(torch.ops.progs, "never"))
""",
        tmp_path,
    )
    assert printed.splitlines() == ["False", "torch.Size([7]) torch.Size([7])", "False"]


def test_what_tt_lacks_is_refused_when_it_is_called(tmp_path):
    printed = under_facade(
        IMPORTS
        + """
for call in (
    lambda: triton_op("progs::t", lambda x: x, mutates_args=()),
    lambda: torch.library.wrap_triton(None),
    fallthrough_kernel,
    lambda: Library("aten", "IMPL").impl("add.Tensor", lambda x, y: x, "CPU"),
):
    try:
        call()
    except NotImplementedError as error:
        print(error)

@custom_op("progs::nonzeros", mutates_args=())
def nonzeros(x: Tensor) -> Tensor:
    return x.nonzero()

@nonzeros.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim())

try:
    nonzeros(torch.ones(2, device="meta"))
except NotImplementedError as error:
    print(str(error).splitlines()[0])
""",
        tmp_path,
    )
    lines = [line for line in printed.splitlines() if not line.startswith("  ")]
    assert len(lines) == 5
    assert [("Triton" in line) for line in lines] == [True, True, False, False, False]
    assert "progs::nonzeros(): the result depends on the values" in lines[4]
