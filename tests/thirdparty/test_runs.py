"""A layout from a package of its own: the core's part, and the findings of the checks."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.exhaustive

USES = """
import copy, pickle
import tt
from tt.core.types.layout import to_layout

x = tt.tensor([1.0, 1.0, 1.0, 2.0, 2.0]).to_runs()
print(x)
print(x.layout is to_layout("runs"), x.shape, x.exp().layout, float(x.sum()))
for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
    assert repr(other) == repr(x)
with tt.fake_mode() as mode:
    fake = -mode.from_tensor(x)
print(repr(fake), fake.shape)
try:
    tt.cos(x)
except tt.errors.NoKernelError as error:
    print(str(error).splitlines()[0])
with tt.fallback_policy("silent", "runs"):
    print(tt.cos(x).layout)
try:
    tt.ones(2, 2).to_runs()
except tt.errors.LayoutError as error:
    print(error)
"""


def test_the_core_prints_pickles_fakes_and_densifies_it(run) -> None:
    out = run(USES, "tt-runs")
    assert out == (
        "tensor(values=tensor([1., 2.]),\n"
        "       lengths=tensor([3, 2]), size=(5,), runs=2, layout=tt.runs)\n"
        "True tt.Size([5]) tt.runs 7.0\n"
        "FakeTensor(values=tensor(..., size=(2,)),\n"
        "           lengths=tensor(..., size=(2,)), size=(5,), layout=tt.runs) tt.Size([5])\n"
        "cos(Tensor self) has no kernel for runs/cpu/float32\n"
        "tt.strided\n"
        "the layout tt.runs holds vectors, not 2 dimensions\n"
    )


def test_the_checks_of_layouts_run_on_it(run) -> None:
    out = run(["ops", "check", "--backend", "cpu/runs", "--run", "--dtype", "float32"], "tt-runs")
    last = next(line.split() for line in out.splitlines() if line.startswith("all"))
    assert last[1:3] == ["6", "6"] and int(last[3]) > 10 and last[-2:] == ["0", "0"], out


WRONG = """
import tt
from tt.library import REGISTRY, KernelTable
from tt.testing.coverage import Place
from tt.testing.conformance.layouts import check_layout
from tt.testing.conformance.run import Target
from tt_runs import layout

tt.tensor([1.0]).to_runs()


def found(op, kernel, device="cpu"):
    table = KernelTable(device, "runs")
    table.kernel(op, kernel, tensors=True, override=True, priority=9)
    with REGISTRY.add(table):
        report = check_layout(Target(op, "float32"), Place("cpu", "runs"))
    return sorted({f.check for f in report.failures}) or report.samples > 0


def changing(self):
    values, lengths = layout.component_tensors(self)
    values.add_(1)
    return layout.made(values * 0, lengths, self.shape[0])


def longer(self):
    values, lengths = layout.component_tensors(self)
    return layout.made(tt.abs(values), lengths + 1, self.shape[0] + lengths.shape[0])


def broken(self):
    return {}["nothing"]


def refusing(self):
    raise tt.errors.LayoutError("not here")


print(found("abs", layout._of_values(tt.abs)))
print(found("abs", layout._of_values(tt.neg)))
print(found("abs", changing))
print(found("abs", longer))
print(found("abs", broken))
print(found("abs", refusing))
print(found("abs", lambda self: tt.zeros(self.shape), device="meta"))
"""


def test_the_checks_of_layouts_find_what_breaks_their_laws(run) -> None:
    out = run(WRONG, "tt-runs")
    assert out.splitlines() == [
        "True",
        "['values']",
        "['inputs', 'values']",
        "['meta', 'values']",
        "['runs']",
        "False",
        "['meta']",
    ]
