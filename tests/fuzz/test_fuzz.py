"""The fuzzers: the same seed gives the same programs, what fails is found, made shorter and reported."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest

import tt
from tests.fuzz import calls, checkpoints, collectives, loops, stores
from tests.fuzz.comparison import rounded_alike
from tests.fuzz.differing import undefined
from tests.fuzz.drafts import Program
from tests.fuzz.following import Steps
from tests.fuzz.known import KNOWN, Known
from tests.fuzz.products import agrees
from tests.fuzz.records import FUZZERS, Record, program_of
from tests.fuzz.runs import Failure, Run, replay
from tests.fuzz.sequences import Sequence
from tests.fuzz.verdicts import Verdict, compare, verdict_of
from tests.fuzz.worker import _compare_apart
from tests.fuzz.workers import Worker


@pytest.fixture(scope="module")
def worker():
    found = Worker(limit=3)
    yield found
    found.close()


@pytest.mark.parametrize("fuzzer", FUZZERS)
def test_a_seed_gives_the_same_programs_and_another_seed_others(fuzzer):
    texts = [[program_of(Record(fuzzer, seed, number)).text for number in range(5)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_part_is_left_out_and_the_others_stay_as_they_are():
    records = [Record("schemas", 1, number) for number in range(60)]
    found = [
        (program_of(record), program_of(record.less(0))) for record in records if program_of(record).parts
    ]
    assert all(whole.parts == less.parts for whole, less in found)
    changed = [whole.text != less.text for whole, less in found]
    assert sum(changed) > len(changed) / 2


def test_random_programs_do_nothing_that_is_not_known():
    run = Run(tuple(FUZZERS), seed=23, jobs=1, known=KNOWN)
    run.draw(seconds=60, programs=128)
    assert run.kinds.total() == 128 and run.kinds["good"] > 40
    assert not run.failed, run.report()


@pytest.mark.parametrize(
    ("text", "kind", "where"),
    [
        ("import tt\ntt.ones(2)", "good", ""),
        ("import tt\ntt.ones(2).reshape(3)", "refused", "ShapeError"),
        ("import tt.core.schema\nraise ValueError(1)", "refused", "ValueError of the program itself"),
        (
            "from tt.core.types.promotion import promote_types\npromote_types(1, 2)",
            "foreign",
            "KeyError in core/types/promotion.py",
        ),
        ("assert False, 'different'", "wrong", "different"),
        ("f(", "wrong", "the program is not Python"),
    ],
)
def test_how_a_program_ends_is_judged(text, kind, where):
    found = verdict_of(text)
    assert found.kind == kind and found.where.startswith(where)


def test_a_crash_and_a_hang_are_told_from_each_other_and_the_next_program_runs(worker):
    crash = worker.run_text("import ctypes\nctypes.string_at(0)")
    assert crash.kind == "crash" and crash.where.startswith("SIGSEGV") and "string_at" in crash.text
    hang = worker.run_text("while True: pass")
    assert hang.kind == "hang" and hang.failed
    assert worker.run_text("print('not an answer')").kind == "good"


def test_after_a_crash_no_module_is_imported_again(worker):
    worker.run_text("import tt")
    first = worker.process, worker.fork
    assert worker.run_text("import os; os.abort()").kind == "crash"
    assert worker.run_text("import sys; assert 'tt' in sys.modules").kind == "good"
    assert worker.process is first[0] and worker.fork != first[1]


def test_memory_is_limited(worker):
    assert worker.run_text("import tt\ntt.zeros(2**40)").where.endswith("MemoryError")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (tt.tensor([1.0, 3.0]), "other values"), (tt.tensor([2, 2]), "another dtype"),
        (tt.tensor([2.0]), "another shape"),
    ],
)  # fmt: skip
def test_a_result_that_is_not_that_of_torch_is_wrong(result, problem):
    pytest.importorskip("torch")
    names = {"tt": tt, "result": result}
    found = compare("check('add', result, tt.ones(2), tt.ones(2))", names)
    assert found.kind == "different" and found.failed and found.where == problem
    names["result"] = tt.tensor([2.0, 2.0])
    assert compare("check('add', result, tt.ones(2), tt.ones(2))", names) == Verdict("good", "agrees")


@pytest.mark.torch
def test_other_memory_or_strides_than_those_of_torch_are_a_difference():
    pytest.importorskip("torch")
    x = tt.arange(6.0).reshape(2, 3)
    names = {"tt": tt, "x": x, "result": x}
    assert compare("check('clone', result, x)", names).where == "other memory"
    assert compare("check('reshape', result, x, (2, 3))", names).kind == "good"
    assert (
        compare("check('reshape', result, x, (2, 3))", {**names, "result": x.clone()}).where == "other memory"
    )
    swapped = x.t().contiguous().t()
    assert (
        compare("check('square', result, x)", {**names, "result": swapped.square()}).where == "other strides"
    )


@pytest.mark.torch
@pytest.mark.parametrize(("change", "where"), [("", ""), ("b = b.clone()", "other memory")])
def test_the_memory_of_a_sequence_is_followed(change, where):
    pytest.importorskip("torch")
    source, names = "a = tt.arange(6.0)\nwith step: b = a[2:]\n", {}
    verdict_of(f"import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\n{source}{change}", names)
    found = compare(f"follow({source!r}, globals())", names)
    assert found.where == where if where else found.kind == "good"


@pytest.mark.torch
def test_what_torch_refuses_is_counted_and_no_failure():
    pytest.importorskip("torch")
    names = {"tt": tt, "result": tt.zeros(0)}
    assert compare("check('cat', result, [tt.ones(2), tt.ones(3, 3)])", names).where == "refused"


@pytest.mark.torch
def test_gradients_are_compared():
    pytest.importorskip("torch")
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    text = "check('square', result, x, grads=[grad], cotangent='tt.ones_like(r)')"
    names = {"tt": tt, "x": x, "result": x.square(), "grad": tt.tensor([2.0, 4.0])}
    assert compare(text, names) == Verdict("good", "agrees")
    assert compare(text, {**names, "grad": tt.tensor([2.0, 5.0])}).where == "gradients with other values"
    assert compare(text, {**names, "grad": None}).where == "no gradient, other than in PyTorch"


@pytest.mark.torch
def test_what_rounding_leaves_of_a_cancelled_sum_is_measured_in_double_precision():
    pytest.importorskip("torch")
    a = tt.full((2, 4, 2, 1, 2), 3.1, requires_grad=True)
    result = tt.ops.group_norm(a, 4)
    text = "check('group_norm', result, a, 4, grads=[grad], cotangent='r.detach().clone()')"
    for grad, kind in ((tt.full(a.shape, 1e-5), "good"), (tt.full(a.shape, 1e-2), "different")):
        assert compare(text, {"a": a, "result": result, "grad": grad}).kind == kind
    exact, theirs = np.array([1.0, 1e6]), np.array([1.0, 1e6 + 0.5])
    assert rounded_alike(np.array([1.0, 1e6 - 1.0]), theirs, exact)
    assert not rounded_alike(np.array([1.0, 1e6 - 1.1]), theirs, exact)
    assert not rounded_alike(np.array([1.0, np.nan]), theirs, exact)
    assert not rounded_alike(theirs, np.array([1.0, np.inf]), exact)
    assert not rounded_alike([theirs], [theirs], [])


@pytest.mark.parametrize(
    ("name", "arguments", "left_open"),
    [
        ("avg_pool1d", {"input": tt.tensor([[1e38, 1e38, -float("inf")]])}, True),
        ("avg_pool1d", {"input": tt.tensor([[1e30, 1e30, -float("inf")]])}, False),
        ("conv1d", {"input": tt.ones(1, 1, 3), "weight": tt.full((1, 1, 2), 3e38)}, True),
        ("conv1d", {"input": tt.full((1, 1, 3), float("inf")), "weight": tt.ones(1, 1, 2)}, False),
        ("linalg_tensorsolve", {"A": tt.eye(4).reshape(2, 2, 4), "B": tt.ones(2, 2), "dims": None}, False),
        ("linalg_tensorsolve", {"A": tt.ones(2, 2, 4), "B": tt.ones(2, 2), "dims": None}, True),
        ("linalg_tensorsolve", {"A": tt.eye(4).reshape(4, 2, 2), "B": tt.ones(4), "dims": [0]}, False),
        ("linalg_tensorinv", {"A": tt.eye(4).reshape(2, 2, 4), "ind": 2}, False),
        ("linalg_tensorinv", {"A": tt.ones(2, 2, 4), "ind": 2}, True),
        ("matrix_exp", {"self": tt.ones(3, 3, dtype=tt.bfloat16)}, True),
        ("matrix_exp", {"self": tt.eye(3, dtype=tt.bfloat16)}, False),
    ],
)
def test_what_is_left_open_is_narrow(name, arguments, left_open):
    assert undefined(name, arguments) == left_open


@pytest.mark.torch
@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("", ""),
        ("c.detach().add_(1)", "other values"),
        ("step.refused[1] = 'ShapeError'", "refused, and PyTorch does not"),
        ("step.refused[1] = 'NumberRangeError'", ""),
        ("a.grad.zero_()", "other values"),
        ("a.grad = None", "no gradient, other than in PyTorch"),
    ],
)
def test_a_sequence_is_followed_with_torch(change, where):
    pytest.importorskip("torch")
    steps = "with step: b = a * 2\nwith step: c = b[0]\nwith step: c.mul_(3)\nwith step: b.sum().backward()\n"
    source = f"a = tt.tensor([1.0, 2.0]).requires_grad_()\n{steps}"
    names = {}
    program = f"import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\n{source}{change}"
    assert verdict_of(program, names).kind == "good"
    found = compare(f"follow({source!r}, globals())", names)
    assert found.where == where if where else found.kind == "good"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        # Views that came from one call, whose memory was changed: tt refuses a look at their history.
        ("a = tt.ones(2).requires_grad_()\nwith step: b = a.clone()\nwith step: c = b.unbind(0)[1]\n"
         "with step: b.zero_()",
         "stricter"),
        # PyTorch asks to report a bug.
        ("a = tt.tensor([1+2j]).reshape((1,)).requires_grad_()\nwith step: b = a.real\nwith step: c = b.detach()\n"
         "with step: c.zero_()\nwith step: b.sum().backward()", "looser"),
        # A view of bits.
        ("a = tt.ones(2)\nb = tt.ones(2).requires_grad_()\nwith step: c = a.view(tt.float32)\nwith step: a.add_(b)",
         "looser"),
        ("a = tt.ones(1, 3)\nwith step: a[tt.tensor([0, 1])] = 2", "refused by both"),
    ],
)  # fmt: skip
def test_what_torch_leaves_open_is_no_difference(source, outcome):
    pytest.importorskip("torch")
    names = {}
    assert not verdict_of(
        f"import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\n{source}\n", names
    ).failed
    found = compare(f"follow({source!r}, globals())", names)
    assert (found.kind, found.where) == ("good", outcome)


@pytest.mark.parametrize(
    ("template", "line", "defined"),
    [
        ("{x}.add_({y})", "a.add_(b)", True),
        ("{x}.add_({y})", "c.add_(a)", False),
        ("{x}[{i}:] += {s}", "c[1:] += 2", False),
        ("{new} = {x} + {y}", "e = c + a", True),
        ("{x}.resize_({n})", "a.resize_(4)", True),
        ("{x}.resize_({n})", "a.resize_(5)", False),
        ("{x}.index_add_({d}, {ix}, {y})", "a.index_add_(0, tt.tensor([0]), b)", False),
        ("{x}.index_add_({d}, {ix}, {y})", "a.index_add_(0, tt.tensor([0]), d)", True),
        ("{x}[{ix}] = {y}", "a[tt.tensor([0])] = b", False),
        ("{new} = {x}.view(tt.{t})", "e = a.view(tt.int32)", False),
        ("{new} = {x}.view(tt.{t})", "e = a.view(tt.float32)", True),
        ("{new} = {x}.view(tt.{t})", "e = i.view(tt.bfloat16)", False),
        ("{new} = {x}.view(tt.{t})", "e = a.view(tt.complex64)", True),
        ("{new} = {x}.view(tt.{t})", "e = a.view(tt.float64)", False),
    ],
)
def test_a_sequence_that_reads_what_it_writes_is_not_compared(template, line, defined):
    drawn = Sequence(random.Random(1))
    a = tt.ones(4, device="meta")
    drawn.names = {"a": a, "b": a.view(4), "c": a.unfold(0, 3, 1), "d": tt.ones(4, device="meta"),
                   "i": tt.ones(4, dtype=tt.int32, device="meta")}  # fmt: skip
    drawn.bases = {"a": "a", "b": "a", "c": "a", "d": "d", "i": "i"}
    assert (
        drawn.is_defined(template, line, line.partition(" = ")[2][:1] if "{new}" in template else line[0])
        == defined
    )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("body", "change", "where"),
    [
        ("a.sin() * a.exp()", "", ""),
        ("a.sin() * a.exp()", "results[0].mul_(1.01)", "other values"),
        ("a.sin() * a.exp()", "results[0] = results[0][0]", "another shape"),
        (
            "a.sin() * a.exp()",
            "step.refused[0] = 'ShapeError: no'",
            "refused, and PyTorch does not: ShapeError",
        ),
        ("a.view(7)", "", ""),
    ],
)
def test_nested_transforms_are_followed_with_torch_and_with_loops(body, change, where):
    pytest.importorskip("torch")
    source = (
        f"f = lambda a: ({body}).sum()\nA = tt.tensor([[1.0, 2.0], [0.5, 3.0]], dtype=tt.float64)\n"
        "with step: results = [F.vmap(F.hessian(f))(A)]\n"
    )
    names = {}
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nF = tt.func\n"
    assert verdict_of(head + source + change, names).kind == "good"
    found = compare(f"follow_transforms({source!r}, globals())", names)
    assert found.where == where if where else found.kind == "good"
    if where.startswith(("other", "another")):
        assert loops.problem(source, names).startswith(where)
    elif not where:
        assert not loops.problem(source, names)


def test_loops_are_the_transforms_of_a_function():
    def f(x, y):
        return (x * y.sin()).sum() * x

    x, y = (tt.tensor(v, dtype=tt.float64) for v in ([1.0, 2.0], [0.5, -1.0]))
    here, there = loops.Loops(tt), tt.func
    for name, places in (("jacrev", (0, 1)), ("jacfwd", (0, 1)), ("hessian", (0, 1))):
        for place in places:
            tt.testing.assert_close(*(getattr(lib, name)(f, argnums=place)(x, y) for lib in (here, there)))
    for pair in zip(here.jvp(f, (x, y), (y, x)), there.jvp(f, (x, y), (y, x)), strict=True):
        tt.testing.assert_close(*pair)
    pulled = [lib.vjp(f, x, y)[1](y) for lib in (here, there)]
    tt.testing.assert_close(*pulled)
    for chosen in ((0, None), (None, 0)):
        tt.testing.assert_close(
            *(lib.vmap(lambda *z: tt.stack([f(*z)]), chosen, 1)(x, y) for lib in (here, there))
        )
    value = [lib.grad_and_value(lambda x: (x**3).sum())(x) for lib in (here, there)]
    tt.testing.assert_close(list(value[0]), list(value[1]))


@pytest.mark.torch
def test_a_result_that_no_example_changes_is_stacked_where_torch_forgets_the_place():
    pytest.importorskip("torch")
    source = (
        "def f(x):\n    with tt.no_grad(): return x * 2\nA = tt.arange(6, dtype=tt.float64).reshape(2, 3)\n"
        "with step: results = [F.vmap(lambda y: f(A), out_dims=1)(A)]\n"
    )
    names = {}
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nF = tt.func\n"
    assert verdict_of(head + source, names).kind == "good"
    assert compare(f"follow_transforms({source!r}, globals())", names).where == "agrees with loops"
    names["results"] = [names["results"][0] + 1]
    assert compare(f"follow_transforms({source!r}, globals())", names).where == "other values"


@pytest.mark.torch
def test_a_change_through_data_inside_of_transforms_is_judged_as_one_through_detach():
    pytest.importorskip("torch")
    source = (
        "def f(x):\n    y = x * 1\n    z = (y * y).sum()\n    y.data.mul_(2)\n    return z\n"
        "A = tt.ones(2, 3, dtype=tt.float64)\nwith step: results = [F.vmap(F.grad(f))(A)]\n"
    )
    names = {}
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nF = tt.func\n"
    assert verdict_of(head + source, names).kind == "good"
    assert names["step"].refused[0].startswith("SavedTensorError")
    assert compare(f"follow_transforms({source!r}, globals())", names) == Verdict("good", "refused by both")


@pytest.mark.torch
def test_the_order_of_a_result_in_memory_is_left_open():
    pytest.importorskip("torch")
    source = (
        "def f(x): return (x.t() + x).as_strided((4,), (1,), 0)\n"
        "A = tt.arange(4, dtype=tt.float64).reshape(2, 2).exp()\nwith step: results = [f(A) * tt.arange(4)]\n"
    )
    names = {}
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nF = tt.func\n"
    assert verdict_of(head + source, names).kind == "good"
    assert compare(f"follow_transforms({source!r}, globals())", names).kind == "good"
    source = source.replace("x.t() + x)", "x + x)")
    assert verdict_of(head + source, names).kind == "good"
    names["results"] = [names["results"][0] + 1]
    assert compare(f"follow_transforms({source!r}, globals())", names).where == "other values"


@pytest.mark.torch
def test_calls_of_one_draw_differ_and_agree_with_torch():
    pytest.importorskip("torch")
    for pattern in ("add", "sum*", "matmul", "gather", "softmax"):
        kinds = [calls.quick(5, number, pattern).kind for number in range(12)]
        assert kinds.count("good") >= 10 and set(kinds) <= {"good", "refused"}
        texts = {calls.program(5, number, pattern).text for number in range(12)}
        assert len(texts) > 6
        verdict = verdict_of(calls.program(5, 3, pattern).text)
        assert verdict.kind == kinds[3]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda out, x: out + 1e-3, "different"),
        (lambda out, x: out.to(tt.float64), "different"),
        (lambda out, x: x.zero_(), "wrong"),
    ],
)
def test_calls_with_wrong_results_or_changed_arguments_are_seen(monkeypatch, change, verdict):
    pytest.importorskip("torch")
    for start in itertools.count(0, calls.BATCH):
        drawn = calls.batch(2, start, "sin")
        if drawn.args[0].dtype is tt.float32 and not drawn.backward:
            break
    assert calls.quick(2, start, "sin") == Verdict("good", "agrees")
    packet = drawn.packet
    monkeypatch.setattr(drawn, "packet", lambda x: change(packet(x), x))
    assert calls.quick(2, start, "sin").kind == verdict


@pytest.mark.torch
def test_calls_with_wrong_gradients_are_seen(monkeypatch):
    pytest.importorskip("torch")
    start = next(k * calls.BATCH for k in range(40) if calls.batch(2, k * calls.BATCH, "sin").backward)
    assert calls.quick(2, start, "sin") == Verdict("good", "agrees")
    right = calls.gradients
    monkeypatch.setattr(calls, "gradients", lambda *given: [x * 1.01 for x in right(*given)])
    assert calls.quick(2, start, "sin").where == "gradients with other values"


def test_of_many_programs_the_one_that_fails_is_told_from_the_others(worker, monkeypatch):
    records = [Record("schemas", 1, number) for number in range(5)]
    done, counts, verdict = worker.run_many(records)
    assert done == 5 == counts.total() and verdict is None
    assert list(worker.history)[-5:] == records
    monkeypatch.setattr(worker, "_reply", lambda process, seconds: b"ended -11")
    monkeypatch.setattr(worker.place, "read", lambda: (3, "running"))
    done, counts, verdict = worker.run_many(records)
    assert done == 4 and not counts and verdict.kind == "crash" and worker.history[-1] == records[3]
    monkeypatch.setattr(worker, "_reply", lambda process, seconds: b"ended -11")
    monkeypatch.setattr(worker.place, "read", lambda: (1, "comparing"))
    done, counts, verdict = worker.run_many(records)
    assert done == 2 and verdict == Verdict("uncompared", "PyTorch crashes")


def test_a_process_that_computes_nothing_on_a_busy_machine_is_waited_for(worker, monkeypatch):
    waits = []
    monkeypatch.setattr(worker, "limit", 0.05)
    monkeypatch.setattr(worker, "_reply", lambda process, seconds: waits.append(seconds) or time.sleep(0.03))
    monkeypatch.setattr(worker, "_spent", lambda: 0.0)
    assert worker.run_many([Record("schemas", 1, 0)])[2].kind == "hang" and len(waits) > 10
    waits.clear()
    spent = itertools.count()
    monkeypatch.setattr(worker, "_spent", lambda: float(next(spent)))
    assert worker.run_many([Record("schemas", 1, 0)])[2].kind == "hang" and len(waits) < 5


def test_a_step_that_is_refused_ends_no_sequence():
    names = {}
    text = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\nwith step: tt.ones(2).reshape(3)\nx = 1"
    assert verdict_of(text, names).kind == "good" and names["x"] == 1
    assert names["step"].refused[0].startswith("ShapeError")
    assert (
        verdict_of(text.replace("tt.ones(2).reshape(3)", "tt.core.types.promotion.promote_types(1, 2)")).kind
        == "foreign"
    )


@pytest.mark.torch
def test_random_programs_give_what_torch_gives():
    pytest.importorskip("torch")
    run = Run(("operators",), seed=21, pattern="add,sum*,amax,permute,roll,where*,clamp*", jobs=1)
    run.draw(seconds=60, programs=300)
    assert not run.failed, run.report()
    assert run.compared["agrees"] > 20 and "compared with PyTorch" in run.report()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("pass", ""),
        ("b = a.clone().fill_(1.0)", "other integers"),
        ("b = tt.quantize_per_tensor(a.dequantize(), 0.25, 3, tt.quint8)", "another quantizer"),
        ("b = tt.quantize_per_tensor(a.dequantize(), 0.5, 3, tt.qint8)", "another dtype"),
        (
            "b = tt.quantize_per_channel(a.dequantize(), tt.ones(2), tt.zeros(2), 0, tt.quint8)",
            "another scheme",
        ),
        ("b = a.reshape(1, 2)", "another shape"),
        ("c = 0.25", "another number"),
    ],
)
def test_quantized_tensors_are_compared(change, problem):
    pytest.importorskip("torch")
    source = (
        "a = tt.quantize_per_tensor(tt.tensor([0.5, 9.0]), 0.5, 3, tt.quint8)\n"
        "with step: b = a.flip(0)\nwith step: c = a.q_scale()\n"
    )
    names = {}
    head = "import tt\nfrom tests.fuzz.following import Steps\nstep = Steps()\n"
    assert not verdict_of(head + source + change + "\n", names).failed
    found = compare(f"follow_quantized({source!r}, globals())", names)
    assert (found.kind, found.where) == (("different", problem) if problem else ("good", "agrees"))


def test_a_wrong_element_of_a_product_is_found():
    draw = np.random.default_rng(0)
    for dtype in (tt.float32, tt.float64, tt.bfloat16, tt.complex64, tt.int32, tt.bool):
        a, b = (tt.tensor(draw.integers(0, 9, shape)).to(dtype) for shape in ((5, 40), (40, 7)))
        before = [x.numpy() for x in (a, b, a)]
        right = a @ b if dtype is not tt.bool else (a.int() @ b.int()).bool()
        agrees(right, "mk,kn->mn", False, 1, 1, before)
        wrong = right.clone()
        wrong[3, 4] = right[3, 4].logical_not() if dtype is tt.bool else right[3, 4] * 2 + 9
        with pytest.raises(
            AssertionError, match=r"1 of 35 elements are wrong|other integers|other truth values"
        ):
            agrees(wrong, "mk,kn->mn", False, 1, 1, before)
        with pytest.raises(AssertionError, match="another shape"):
            agrees(right[:4], "mk,kn->mn", False, 1, 1, before)


def test_a_wrong_collective_is_found(monkeypatch):
    step = ("all_reduce", "plain", "plain", "int32", "int32", "SUM", 0, False, 1)
    collectives.run([step])
    monkeypatch.setattr(collectives.dist, "all_reduce", lambda tensor, *args, **named: None)
    with pytest.raises(AssertionError, match="all_reduce: other numbers"):
        collectives.run([step])


def test_a_checkpoint_that_reads_elsewhere_is_found(monkeypatch):
    found = checkpoints.PROGRAM.format(
        split=False,
        loose=False,
        changes="    (folder / 'rank-00000.safetensors').write_bytes(outside.read_bytes())",
    )
    monkeypatch.setattr(
        "tt.distributed.checkpoint.reading.Reader.rows",
        lambda self, chunk, entry: tt.full((chunk.end - chunk.first, *entry.shape[1:]), 666.0),
    )
    assert verdict_of(found).where == "numbers from outside of the folder"


def test_a_server_that_ends_is_found(monkeypatch):
    text = stores.SERVER.format(
        count=1, greets=True, steps="    socks[0].sendall(pack(1, b'init/', b'many'))"
    )
    assert verdict_of(text).kind == "good"
    text = text.replace("timeout=seconds)\n", "timeout=timedelta(seconds=0.2))\n")
    stopped = text.replace("    served =", "    store._server.close()\n    served =")
    assert verdict_of(stopped).kind == "refused", "an honest client is not served"


def test_limits_of_kept_memory_take_turns():
    before, met = tt.cpu.get_cache_limit(), []
    try:
        step = Steps((0, 4096))
        for _ in range(3):
            with step:
                met.append(tt.cpu.get_cache_limit())
    finally:
        tt.cpu.set_cache_limit(before)
    assert met == [0, 4096, 0]


def test_differences_alone_fail_only_a_run_that_is_not_lenient():
    found = Run(("operators",), seed=1)
    verdict = Verdict("different", "other values")
    found.failures["", "add"] = Failure(Record("operators", 1, 1), verdict, Program("", (), "add"))
    assert found.failed and "other values" in found.report()
    found.lenient = True
    assert not found.failed
    found.failures["", "sub"] = Failure(Record("operators", 1, 2), Verdict("crash"), Program("", (), "sub"))
    assert found.failed


def test_a_process_that_ends_while_torch_computes_is_no_failure(worker, monkeypatch):
    monkeypatch.setattr(
        worker, "_reply", lambda process, seconds, lines=[b"comparing", b"ended -11"]: lines.pop(0)
    )
    found = worker.run(Record("operators", 1, 1))
    assert found.kind == "uncompared" and not found.failed


def test_a_comparison_in_a_process_of_its_own_leaves_this_one_alone():
    assert _compare_apart("'agrees'", {}) == Verdict("good", "agrees")
    assert _compare_apart("__import__('os').abort()", {}) == Verdict("uncompared", "PyTorch crashes")


@pytest.mark.torch
def test_transforms_are_compared_where_they_damage_no_other_program(worker):
    pytest.importorskip("torch")
    record = next(
        record for record in (Record("operators", 3, number, "fft_irfftn") for number in range(100))
        if worker.program(record).comparison
    )  # fmt: skip
    assert worker.run(record) == Verdict("good", "agrees")


def test_what_is_known_is_not_reported_and_what_no_longer_fails_is_stale():
    fails = Known("for the test", "crash", "SIGSEGV", "import ctypes\nctypes.string_at(0)")
    mended = Known("mended", "crash", "SIGSEGV", "x = 1")
    run = Run(("schemas",), seed=1, jobs=1, known=(fails, mended))
    run.draw(seconds=60, programs=1)
    assert run.stale == [mended] and run.failed and "STALE" in run.report()
    crash = verdict_of("raise SystemExit")
    assert not fails.covers("add", crash)


def test_a_journal_is_run_again(tmp_path):
    journal = tmp_path / "journal.json"
    journal.write_text(
        '[{"fuzzer": "schemas", "seed": 1, "number": 3, "pattern": "*", "excluded": "", "dropped": []}]'
    )
    verdict, count = replay(journal, 20, 4096)
    assert count == 1 and not verdict.failed
