"""Steps of optimizers, compiled and not: against PyTorch's functions and a plain computation in double precision."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import tt
from tt.backends.cpu import optimizer as reference
from tt.backends.cpu.native.loading import load

native = load("optimizer")
FORMS = [reference] if native is None else [reference, native]
SHAPES = ((1000,), (33, 65), (), (0, 3), (5, 4, 3))

SGD = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
       "is_first_step": False}  # fmt: skip
ADAM = {
    "lr": 0.01,
    "beta1": 0.9,
    "beta2": 0.99,
    "weight_decay": 0.0,
    "eps": 1e-8,
    "amsgrad": False,
    "maximize": False,
}
ADAGRAD = {"lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-10, "maximize": False}
CASES = [
    ("sgd", 1, SGD),
    ("sgd", 1, {**SGD, "weight_decay": 0.3, "maximize": True}),
    ("sgd", 1, {**SGD, "momentum": 0.9}),
    ("sgd", 1, {**SGD, "momentum": 0.9, "is_first_step": True, "weight_decay": 0.1}),
    ("sgd", 1, {**SGD, "momentum": 0.9, "dampening": 0.4}),
    ("sgd", 1, {**SGD, "momentum": 0.9, "nesterov": True, "maximize": True}),
    *((name, 3, {**ADAM, **more}) for name in ("adam", "adamw") for more in (
        {}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True, "weight_decay": 0.2, "amsgrad": True})),
    ("adagrad", 1, ADAGRAD),
    ("adagrad", 1, {**ADAGRAD, "lr_decay": 0.2, "weight_decay": 0.1, "maximize": True}),
]  # fmt: skip


def lists(states: int, seed: int = 0) -> list[list[np.ndarray]]:
    """Return parameters, gradients, and states that are not negative."""
    rng = np.random.default_rng(seed)
    made = [[np.asarray(rng.standard_normal(shape)) for shape in SHAPES] for _ in range(2 + states)]
    return [*made[:2], *([abs(array) for array in state] for state in made[2:])]


def arguments(name: str, made: list[list], options: dict, steps: list) -> list:
    if name == "sgd":
        return [*made[:2], made[2] if options["momentum"] else []]
    if name == "adagrad":
        return [*made, steps]
    return [*made[:4], made[4] if options["amsgrad"] else [], steps]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "states", "options"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_steps_are_those_of_pytorch(name, states, options, dtype):
    torch = pytest.importorskip("torch")
    function = getattr(torch, f"_fused_{name}_")
    for scaled in (False, True):
        made = lists(states)
        ours = [[tt.tensor(a, dtype=getattr(tt, dtype)) for a in group] for group in made]
        # PyTorch's plain step leaves float16 and bfloat16 as they are, so those are compared with float64.
        kind = torch.float32 if dtype == "float32" else torch.float64
        theirs = [[torch.tensor(t.double().numpy(), dtype=kind) for t in group] for group in ours]
        steps = [float(n + 1) for n in range(len(SHAPES))]
        more = {"grad_scale": 4.0, "found_inf": 0.0} if scaled else {}
        function(
            *arguments(name, theirs, options, [torch.tensor(s) for s in steps]), **options,
            **{key: torch.tensor(value) for key, value in more.items()},
        )  # fmt: skip
        getattr(tt.ops, f"_fused_{name}_")(
            *arguments(name, ours, options, [tt.tensor(s) for s in steps]), **options,
            **{key: tt.tensor(value) for key, value in more.items()},
        )  # fmt: skip
        tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
        for mine, other in zip(ours, theirs, strict=True):
            for one, two in zip(mine, other, strict=True):
                np.testing.assert_allclose(
                    one.double().numpy(), two.double().numpy(), rtol=tolerance, atol=tolerance, err_msg=name
                )


@pytest.mark.parametrize(("name", "states", "options"), CASES)
@pytest.mark.parametrize("form", FORMS, ids=lambda module: module.__name__)
def test_both_forms_and_the_composite_agree(form, name, states, options):
    function = getattr(form, f"fused_{name}")
    for dtype in (np.float32, np.float64):
        for lay in (
            np.ascontiguousarray,
            np.asfortranarray,
            lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
        ):
            made = [[np.asarray(lay(a.astype(dtype))) for a in group] for group in lists(states)]
            made[0] = [a.copy() for a in made[0]]
            given = [
                [tt.tensor(np.ascontiguousarray(a)) if a.ndim else tt.tensor(a) for a in group]
                for group in made
            ]
            steps = [3.0] * len(SHAPES)
            with tt.library.mask_kernels("@non-core"):
                getattr(tt.ops, f"_fused_{name}_")(
                    *arguments(name, given, options, [tt.tensor(s) for s in steps]), **options
                )
            function(
                *arguments(name, made, options, [np.asarray(s) for s in steps]), *options.values(), None, None
            )
            for mine, other in zip(made, given, strict=True):
                for one, two in zip(mine, other, strict=True):
                    np.testing.assert_allclose(one, two.numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "states", "options"), CASES)
@pytest.mark.parametrize("form", FORMS, ids=lambda module: module.__name__)
def test_nothing_happens_where_a_gradient_is_not_finite(form, name, states, options):
    made = [[a.astype("f4") for a in group] for group in lists(states)]
    before = [[a.copy() for a in group] for group in made]
    steps = [np.float32(1.0).reshape(()) for _ in SHAPES]
    flags = (np.asarray(2.0, "f4"), np.asarray(1.0, "f4"))
    getattr(form, f"fused_{name}")(*arguments(name, made, options, steps), *options.values(), *flags)
    for mine, other in zip(made, before, strict=True):
        for one, two in zip(mine, other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_the_rate_may_be_a_tensor():
    for rate in (0.25, tt.tensor(0.25), tt.tensor([0.25], dtype=tt.float64)):
        params = [tt.ones(3)]
        tt.ops._fused_sgd_(params, [tt.full((3,), 2.0)], [], **{**SGD, "lr": rate})
        assert params[0].tolist() == [0.5] * 3


def test_parameters_that_require_gradients_are_changed_and_know_it():
    weight = tt.ones(3, requires_grad=True)
    saved = (weight * weight).sum()
    version = weight._version
    with tt.no_grad():
        tt.ops._fused_sgd_([weight], [tt.ones(3)], [], **SGD)
    assert weight._version > version
    assert weight.requires_grad
    with pytest.raises(RuntimeError, match="version"):
        saved.backward()


@pytest.mark.parametrize("wrong", ["lengths", "shapes", "dtypes", "nothing"])
def test_lists_that_do_not_fit_are_refused_before_anything_is_written(wrong):
    params, grads = [tt.ones(2), tt.ones(3)], [tt.ones(2), tt.ones(3)]
    if wrong == "lengths":
        grads = grads[:1]
    elif wrong == "shapes":
        grads[1] = tt.ones(4)
    elif wrong == "dtypes":
        grads[1] = tt.ones(3, dtype=tt.float64)
    else:
        params, grads = [], []
    with pytest.raises(RuntimeError, match=r"_fused_sgd_\(\): (tensor list|grads\[1\])"):
        tt.ops._fused_sgd_(params, grads, [], **SGD)
    assert all((p == 1).all() for p in params)


def test_numbers_that_are_not_finite_stay_where_they_are():
    for form in FORMS:
        made = [[np.array([1.0, np.inf, np.nan], "f4")], [np.array([0.5, 0.5, 0.5], "f4")]]
        with np.errstate(all="ignore"):
            form.fused_sgd(*made, [], *SGD.values(), None, None)
        np.testing.assert_array_equal(made[0][0], np.array([0.95, np.inf, np.nan], "f4"))


# --- steps by rule -------------------------------------------------------------------------------------------------

RULES = {
    "adamax": (2, [0.9, 0.99, 1e-3, -0.1]),
    "nadam": (2, [0.9, 0.99, 1e-3, 0.5, -0.05, -0.1]),
    "radam": (2, [0.9, 0.99, 1e-3, 0.0, -0.1]),
    "radam, first steps": (2, [0.9, 0.99, 0.0, -0.1, 0.0]),
    "adadelta": (2, [0.9, 1e-3, -0.5]),
    "rmsprop": (1, [0.9, 1e-3, -0.1, 0.0]),
    "rmsprop, momentum": (2, [0.9, 1e-3, -0.1, 0.5]),
    "rmsprop, centered": (3, [0.99, 1e-3, -0.1, 0.5]),
    "rprop": (2, [0.5, 1.2, 0.1, 1.0]),
    "asgd": (1, [0.01, 0.1, 1.0]),
    "asgd, averaged": (1, [0.01, 0.1, 0.25]),
}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("factors", [[0.0, 1.0], [0.25, 0.75]])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("rule", RULES)
def test_a_step_by_rule_is_that_of_the_composite_in_double_precision(rule, dtype, factors, maximize):
    states, numbers = RULES[rule]
    for lay in (
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
    ):
        made = lists(3, seed=2)
        if "centered" in rule:
            made[2] = [a + 4 for a in made[2]]
            made[4] = [a * 0 + 0.5 for a in made[4]]
        ours = [[tt.tensor(a).to(getattr(tt, dtype)) for a in group] for group in made]
        wide = [[t.double().clone() for t in group] for group in ours]
        if dtype != "float16":
            ours = [[tt.from_numpy(lay(t.numpy())) for t in group] for group in ours]
        for group in (ours, wide):
            for n in range(states, 3):
                group[2 + n] = []
        name = rule.partition(",")[0]
        tt.ops._fused_step_(*ours, name, [*factors, *numbers], maximize=maximize)
        with tt.library.mask_kernels("@non-core"):
            tt.ops._fused_step_(*wide, name, [*factors, *numbers], maximize=maximize)
        tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3}[dtype]
        for mine, other in zip(ours, wide, strict=True):
            for one, two in zip(mine, other, strict=True):
                np.testing.assert_allclose(
                    one.double().numpy(), two.numpy(), rtol=tolerance, atol=tolerance, err_msg=rule
                )


@pytest.mark.parametrize(("states", "rule", "numbers", "message"), [
    (1, "unknown", [], "rule must be one of adamax"),
    (1, "asgd", [0.0, 1.0], "asgd has 5 numbers, got 2"),
    (0, "asgd", [0.0, 1.0, 0.1, 0.1, 1.0], "asgd needs the list first"),
])  # fmt: skip
def test_a_step_by_a_rule_that_does_not_fit_is_refused(states, rule, numbers, message):
    params = [tt.ones(2)]
    with pytest.raises(RuntimeError, match=message):
        tt.ops._fused_step_(params, [tt.ones(2)], [tt.ones(2)] * states, [], [], rule, numbers)
    assert params[0].tolist() == [1, 1]


def test_fused_steps_of_parameters_run_the_kernel_where_nothing_is_recorded():
    params, grads = [tt.ones(3, requires_grad=True)], [tt.ones(3)]
    with tt.no_grad(), tt.trace_calls() as calls:
        tt.ops._fused_sgd_(params, grads, [], **SGD)
    assert [call.operator for call in calls.calls] == ["_fused_sgd_"]
    assert params[0].requires_grad
    assert params[0]._version == 1


# --- lists of tensors ----------------------------------------------------------------------------------------------

LISTS = {
    "add.Scalar": lambda m, x, y, z: m._foreach_add(x, 2.0),
    "add.List": lambda m, x, y, z: m._foreach_add(x, y, alpha=3),
    "mul.Scalar": lambda m, x, y, z: m._foreach_mul(x, 2.0),
    "mul.List": lambda m, x, y, z: m._foreach_mul(x, y),
    "addcmul": lambda m, x, y, z: m._foreach_addcmul(x, y, z, 0.5),
    "addcdiv": lambda m, x, y, z: m._foreach_addcdiv(x, y, z, value=0.5),
    "lerp": lambda m, x, y, z: m._foreach_lerp(x, y, 0.25),
    "sqrt": lambda m, x, y, z: m._foreach_sqrt(z),
    "norm": lambda m, x, y, z: m._foreach_norm(x),
    "norm 1": lambda m, x, y, z: m._foreach_norm(x, 1),
    "add_": lambda m, x, y, z: m._foreach_add_(x, y) or x,
    "mul_": lambda m, x, y, z: m._foreach_mul_(x, 3.0) or x,
    "addcmul_": lambda m, x, y, z: m._foreach_addcmul_(x, y, z) or x,
    "addcdiv_": lambda m, x, y, z: m._foreach_addcdiv_(x, y, z, 2.0) or x,
    "lerp_": lambda m, x, y, z: m._foreach_lerp_(x, y, 0.25) or x,
    "sqrt_": lambda m, x, y, z: m._foreach_sqrt_(z) or z,
}


@pytest.mark.torch
@pytest.mark.parametrize("name", LISTS)
def test_arithmetic_on_lists_is_that_of_pytorch(name):
    torch = pytest.importorskip("torch")
    made = lists(1)
    theirs = LISTS[name](torch, *([torch.tensor(a) for a in group] for group in made))
    ours = LISTS[name](tt, *([tt.tensor(a) for a in group] for group in made))
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 40_000, 3), (20_000, 0, 20_001, 7), (5,) * 9])
def test_lists_of_any_sizes_are_one_job(sizes):
    """Threads share the elements of all arrays; each is stepped once, by the numbers of its own array."""
    if native is None:
        pytest.skip("native kernels are not in use")
    rng = np.random.default_rng(0)
    made = [[abs(rng.standard_normal(size)).astype("f4") for size in sizes] for _ in range(4)]
    steps = [np.array(1.0 + place, "f4") for place in range(len(sizes))]
    copies = [[array.copy() for array in part] for part in made]
    scale = np.array(2.0, "f4")
    native.fused_adam(*made, [], steps, *ADAM.values(), scale, None)
    for place in range(len(sizes)):
        reference.fused_adam(
            *([part[place]] for part in copies), [], [steps[place]], *ADAM.values(), scale, None
        )
    for found, wanted in zip(made, copies, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


# --- scales of losses ------------------------------------------------------------------------------------------

DTYPES = ("float32", "float64", "float16", "bfloat16")
UNSCALED = {
    "finite": [1.0, -2.0, 3.0],
    "infinite": [1.0, float("inf"), 2.0],
    "negative": [float("-inf"), 1.0, 2.0],
    "not a number": [1.0, 2.0, float("nan")],
}


@pytest.mark.torch
@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("values", UNSCALED.values(), ids=UNSCALED.keys())
@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize("factor", [1.0, 2.0**-16, 0.3, float("nan")])
def test_gradients_are_unscaled_and_checked_as_pytorch_does_it(composite, values, found, factor):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.standard_normal(shape)) for shape in SHAPES] + [np.array(values)]
    ours = [tt.tensor(a, dtype=getattr(tt, name)) for a in arrays for name in DTYPES]
    theirs = [torch.tensor(a, dtype=getattr(torch, name)) for a in arrays for name in DTYPES]
    mine, other = tt.tensor(found), torch.tensor(found)
    with tt.library.mask_kernels("@non-core") if composite else nullcontext():
        tt._amp_foreach_non_finite_check_and_unscale_(ours, mine, tt.tensor(factor))
    torch._amp_foreach_non_finite_check_and_unscale_(theirs, other, torch.tensor(factor))
    assert mine.item() == other.item()
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.double().numpy(), two.double().numpy())


@pytest.mark.torch
@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("scale", [8.0, 3e38, 1e-45])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("found", [0.0, 1.0, 2.0, float("nan")])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_scale_is_updated_as_pytorch_does_it(composite, scale, count, found, shape):
    torch = pytest.importorskip("torch")
    results = []
    for library in (tt, torch):
        value = library.full(shape, scale, dtype=library.float32)
        tracker = library.full(shape, count, dtype=library.int32)
        flag = library.full(shape, found, dtype=library.float32)
        with tt.library.mask_kernels("@non-core") if composite else nullcontext():
            result = library._amp_update_scale_(value, tracker, flag, 2.0, 0.5, 3)
        assert result is value
        results.append((value.item(), tracker.item()))
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_any_order_of_memory_are_unscaled(dtype):
    base = tt.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).to(getattr(tt, dtype))
    for lay in (
        lambda t: t.clone().to(memory_format=tt.channels_last),
        lambda t: t.clone().permute(3, 0, 2, 1),
        lambda t: t.repeat_interleave(2, -1)[..., ::2],
        lambda t: t.clone().flip(0)[:1],
    ):
        grad = lay(base)
        expected, found = grad.double() / 4, tt.tensor(0.0)
        tt._amp_foreach_non_finite_check_and_unscale_([grad, tt.ones(2)], found, tt.tensor(0.25))
        assert tt.equal(grad.double(), expected) and found.item() == 0


def test_one_element_of_many_that_is_not_finite_is_found_whichever_thread_meets_it():
    for place in (0, 99_999, 1_234_567, 1_999_999):
        grads = [tt.ones(1_000_000), tt.ones(1_000_000)]
        grads[place // 1_000_000][place % 1_000_000] = float("inf")
        found = tt.tensor(0.0)
        tt._amp_foreach_non_finite_check_and_unscale_(grads, found, tt.tensor(0.5))
        assert found.item() == 1 and grads[1][7] == 0.5


@pytest.mark.parametrize("dtype", ["complex64", "int32", "bool", "float8_e4m3fn"])
def test_gradients_that_are_no_real_numbers_are_not_unscaled(dtype):
    grads = [tt.ones(2), tt.ones(2).to(getattr(tt, dtype))]
    with pytest.raises(
        tt.errors.DtypeError, match=rf"self\[1\] is tt.{dtype}; gradients that can be unscaled"
    ):
        tt._amp_foreach_non_finite_check_and_unscale_(grads, tt.tensor(0.0), tt.tensor(0.5))
    assert grads[0].tolist() == [1, 1]
