"""The layer of autocast: policies, casts, kept casts, gradients, and what stands above and below it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.library import Mode
from tt.library import custom_op, scoped
from tt.plugins.amp.state import AUTOCAST

F = tt.nn.functional
HALF = {"cpu": tt.bfloat16, "cuda": tt.float16}


@contextmanager
def on(device_type: str) -> Iterator[None]:
    """Switch autocast on, also for a device that this machine does not have."""
    tt.set_autocast_enabled(device_type, True)
    try:
        yield
    finally:
        tt.set_autocast_enabled(device_type, False)


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a device type whose autocast is on, in fake mode."""
    with on(request.param), tt.FakeMode():
        yield request.param


def tensor(device: str, *shape: int, dtype: Any = tt.float32) -> Any:
    return tt.zeros(*shape, device=device, dtype=dtype)


# --- policies ----------------------------------------------------------------------------------------------------


def test_products_are_lowered(device: str) -> None:
    x = tensor(device, 4, 4)
    half = HALF[device]
    for result in (x @ x, tt.mm(x, x), tt.addmm(x, x, x), F.linear(x, x), tt.bmm(x[None], x[None])):
        assert result.dtype is half
    assert F.conv2d(x[None, None], x[None, None]).dtype is half
    assert F.scaled_dot_product_attention(x[None], x[None], x[None]).dtype is half


def test_losses_compute_in_float32(device: str) -> None:
    y = tensor(device, 4, 4, dtype=HALF[device])
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        assert loss(y, y).dtype is tt.float32, loss
    labels = tensor(device, 4, dtype=tt.int64)
    assert F.cross_entropy(y, labels).dtype is tt.float32


def test_the_two_devices_differ_where_their_entries_do() -> None:
    with tt.FakeMode():
        for kind, dtype in (("cpu", tt.bfloat16), ("cuda", tt.float32)):
            with on(kind):
                assert tt.exp(tensor(kind, 2, dtype=HALF[kind])).dtype is dtype
                assert tt.softmax(tensor(kind, 2, dtype=HALF[kind]), 0).dtype is dtype
                assert tt.sum(tensor(kind, 2, dtype=HALF[kind])).dtype is dtype


def test_set_dtype_leaves_a_dtype_that_the_caller_names() -> None:
    with tt.FakeMode(), on("cuda"):
        x = tensor("cuda", 2, dtype=tt.float16)
        assert tt.softmax(x, 0).dtype is tt.float32
        assert tt.softmax(x, 0, dtype=tt.float16).dtype is tt.float16
        assert tt.sum(tensor("cuda", 2, dtype=tt.int64)).dtype is tt.int64


def test_widest_takes_the_widest_of_the_arguments(device: str) -> None:
    x, y = tensor(device, 2), tensor(device, 2, dtype=HALF[device])
    assert tt.cat([x, y]).dtype is tt.float32
    assert tt.cat([y, y]).dtype is HALF[device]
    assert tt.stack([y, x]).dtype is tt.float32


def test_float64_integers_and_complex_numbers_stay(device: str) -> None:
    for dtype in (tt.float64, tt.complex64, tt.int64):
        x = tensor(device, 2, 2, dtype=dtype)
        assert (x @ x).dtype is dtype


def test_what_has_no_policy_keeps_its_dtype(device: str) -> None:
    x, y = tensor(device, 2), tensor(device, 2, dtype=HALF[device])
    assert (x + x).dtype is tt.float32 and tt.relu(y).dtype is HALF[device] and (x + y).dtype is tt.float32


def test_binary_cross_entropy_is_refused_on_cuda_with_the_remedy() -> None:
    with tt.FakeMode(), on("cuda"):
        x = tensor("cuda", 2)
        with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits, which is safe"):
            F.binary_cross_entropy(x, x)
        assert F.binary_cross_entropy_with_logits(x, x).dtype is tt.float32
    with on("cpu"):
        assert F.binary_cross_entropy(tt.zeros(2), tt.zeros(2)).dtype is tt.float32


def test_in_place_forms_and_out_compute_in_the_dtype_of_their_target() -> None:
    x = tt.full((2, 2), 1.001)
    expected = x @ x
    with on("cpu"):
        assert tt.equal(tt.mm(x, x, out=tt.zeros(2, 2)), expected)
        assert tt.equal(tt.zeros(2, 2).addmm_(x, x), expected)


def test_other_devices_are_left_alone() -> None:
    x = tt.ones(2, 2)
    with on("cuda"):
        assert (x @ x).dtype is tt.float32
    with tt.FakeMode(), on("cpu"):
        assert (tensor("cuda", 2, 2) @ tensor("cuda", 2, 2)).dtype is tt.float32


def test_results_do_not_depend_on_which_kernels_there_are() -> None:
    x = tt.randn(3, 3)
    with on("cpu"):
        expected = [
            tt.addmm(x, x, x).dtype,
            F.gelu(x).dtype,
            tt.linalg.det(x).dtype,
            F.layer_norm(x, (3,)).dtype,
        ]
        with tt.mask_kernels("@non-core"):
            results = [
                tt.addmm(x, x, x).dtype,
                F.gelu(x).dtype,
                tt.linalg.det(x).dtype,
                F.layer_norm(x, (3,)).dtype,
            ]
    assert results == expected


# --- values and gradients ----------------------------------------------------------------------------------------


def test_values_are_those_of_casts_written_out() -> None:
    x, w, b = tt.randn(5, 4), tt.randn(3, 4), tt.randn(3)
    with tt.autocast("cpu"):
        y = F.linear(x, w, b)
    assert tt.equal(y, F.linear(x.bfloat16(), w.bfloat16(), b.bfloat16()))


def test_gradients_come_back_in_the_dtype_of_the_leaf() -> None:
    x, w = tt.randn(5, 4, requires_grad=True), tt.randn(4, 3, requires_grad=True)
    with tt.autocast("cpu"):
        loss = F.mse_loss(x @ w, tt.zeros(5, 3))
    loss.backward()
    assert loss.dtype is x.grad.dtype is w.grad.dtype is tt.float32
    low_x, low_w = x.detach().bfloat16().requires_grad_(), w.detach().bfloat16().requires_grad_()
    F.mse_loss((low_x @ low_w).float(), tt.zeros(5, 3)).backward()
    assert tt.equal(w.grad, low_w.grad.float()) and tt.equal(x.grad, low_x.grad.float())


def test_double_backward_works() -> None:
    w = tt.randn(3, 3, requires_grad=True)
    with tt.autocast("cpu"):
        y = (w @ w).float().pow(2).sum()
    (first,) = tt.autograd.grad(y, w, create_graph=True)
    (second,) = tt.autograd.grad(first.sum(), w)
    assert second.dtype is tt.float32 and bool(second.isfinite().all())


# --- kept casts --------------------------------------------------------------------------------------------------


class Casts(Mode):
    """Counts the casts."""

    def __init__(self) -> None:
        self.count = 0

    def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
        self.count += overload.name == "_to_copy"
        return overload.dispatch(args)


def test_the_cast_of_a_parameter_is_kept_until_the_outermost_block_ends() -> None:
    x, layer = tt.ones(2, 3, dtype=tt.bfloat16), tt.nn.Linear(3, 3)
    with tt.autocast("cpu"), Casts() as casts:
        layer(x)
        assert casts.count == 2
        with tt.autocast("cpu"):
            layer(x)
        layer(x)
        assert casts.count == 2 and len(AUTOCAST.casts) == 2
    assert not AUTOCAST.casts


def test_it_is_not_kept_without_the_cache_and_not_for_other_tensors() -> None:
    x, w = tt.ones(2, 2), tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu", cache_enabled=False), Casts() as casts:
        x @ w
        x @ w
        assert casts.count == 4
    with tt.autocast("cpu"), Casts() as casts:
        x @ w[:]
        x @ (w * 1)
        x @ w[:]
        assert casts.count == 6 and not AUTOCAST.casts


def test_a_parameter_changed_in_the_block_is_cast_again() -> None:
    x, w = tt.eye(2), tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu"):
        assert (x @ w)[0, 0].item() == 1.0
        with tt.no_grad():
            w.mul_(3)
        assert (x @ w)[0, 0].item() == 3.0


def test_a_cast_made_under_no_grad_keeps_the_gradients_of_a_later_pass() -> None:
    x, w = tt.ones(2, 2), tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu"):
        with tt.no_grad():
            assert not (x @ w).requires_grad
        (x @ w).sum().backward()
    assert w.grad is not None


def test_a_cast_made_in_inference_mode_is_not_kept() -> None:
    x, w = tt.ones(2, 2), tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu"):
        with tt.inference_mode():
            x @ w
        assert not AUTOCAST.casts
        (x @ w).sum().backward()
    assert w.grad is not None


def test_clearing_forgets_the_casts() -> None:
    x, w = tt.ones(2, 2), tt.ones(2, 2, requires_grad=True)
    with tt.autocast("cpu"):
        x @ w
        assert AUTOCAST.casts
        tt.clear_autocast_cache()
        assert not AUTOCAST.casts


# --- transforms, checkpoints, threads ------------------------------------------------------------------------------


def test_transforms_below_autocast_and_autocast_inside_of_them() -> None:
    x, w = tt.randn(3, 2), tt.randn(2, 2)

    def f(v: Any) -> Any:
        with tt.autocast("cpu"):
            return (v @ w).float().sum()

    with tt.autocast("cpu"):
        outside = tt.func.grad(lambda v: (v @ w).float().sum())(x)
    assert tt.equal(tt.func.grad(f)(x), outside) and outside.dtype is tt.float32
    with tt.autocast("cpu"):
        assert tt.func.vmap(lambda v: v @ w)(x).dtype is tt.bfloat16
        primal, tangent = tt.func.jvp(lambda v: v @ w, (x,), (x,))
        assert primal.dtype is tangent.dtype is tt.bfloat16
    assert not AUTOCAST.casts


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_compute_again_in_the_same_state(reentrant: bool) -> None:
    seen = []

    def block(v: Any) -> Any:
        seen.append((v @ v).dtype)
        return (v @ v).float()

    x = tt.randn(2, 2, requires_grad=True)
    with tt.autocast("cpu", dtype=tt.float16):
        y = tt.utils.checkpoint.checkpoint(block, x, use_reentrant=reentrant)
    y.sum().backward()
    assert seen == [tt.float16] * 2 and not tt.is_autocast_enabled("cpu")


def test_threads_have_a_state_of_their_own() -> None:
    x, results = tt.ones(2, 2), []
    with tt.autocast("cpu"):
        thread = threading.Thread(target=lambda: results.append((x @ x).dtype))
        thread.start()
        thread.join()
        assert (x @ x).dtype is tt.bfloat16
    assert results == [tt.float32]


def test_tensors_in_fake_mode_and_modes_see_the_casts() -> None:
    class Names(Mode):
        def __init__(self) -> None:
            self.names: list[str] = []

        def handle(self, overload: Any, args: tuple[Any, ...]) -> Any:
            self.names.append(overload.name)
            return overload.dispatch(args)

    x = tt.ones(2, 2)
    with tt.autocast("cpu"), Names() as log:
        tt.mm(x, x)
    assert log.names == ["_to_copy", "_to_copy", "mm"]


# --- operators of others -------------------------------------------------------------------------------------------


def test_a_registered_dtype_and_a_registered_policy_count() -> None:
    with scoped():

        @custom_op("amp_test::twice", mutates=())
        def twice(x: tt.Tensor) -> tt.Tensor:
            return x + x

        x = tt.ones(2)
        with tt.autocast("cpu"):
            assert tt.ops.amp_test.twice(x).dtype is tt.float32
        tt.library.register_autocast("amp_test::twice", "cpu", tt.float16)
        with tt.autocast("cpu"):
            assert tt.ops.amp_test.twice(x).dtype is tt.float16
        assert tt.ops.amp_test.twice(x).dtype is tt.float32
        twice.register_autocast("cpu", "lower")
        with tt.autocast("cpu"):
            assert tt.ops.amp_test.twice(x).dtype is tt.bfloat16


def test_a_function_under_a_key_of_autocast_is_called_instead_with_autocast_off() -> None:
    with scoped(), tt.library.Library("amp_test") as lib:
        lib.define("scaled(Tensor x, float by=3.0, *, Tensor? plus=None) -> Tensor")
        lib.impl("scaled", lambda x, by, plus: x @ x * by if plus is None else x @ x * by + plus, "default")
        seen = []

        def in_float32(x: tt.Tensor, by: float, *, plus: tt.Tensor | None) -> tt.Tensor:
            seen.append((by, plus is None))
            return tt.ops.amp_test.scaled(x.float(), by, plus=plus).to(x.dtype)

        lib.impl("scaled", in_float32, "AutocastCPU")
        lib.impl("scaled", in_float32, "AutocastXPU")  # a device type that only PyTorch has
        x = tt.full((2, 2), 1.5, requires_grad=True)
        with tt.autocast("cpu"):
            result = tt.ops.amp_test.scaled(x, plus=tt.ones(1))
            assert tt.ops.amp_test.scaled(x, 2.0).dtype is tt.float32
        assert tt.equal(tt.ops.amp_test.scaled(x, plus=tt.ones(1)), result)
        assert seen == [(3.0, False), (2.0, True)]
        result.sum().backward()
        assert tt.equal(x.grad, tt.full((2, 2), 18.0))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("amp_test::absent", "cpu", tt.float16), tt.errors.UnknownOpError),
        (("mm", "nowhere", tt.float16), RuntimeError),
        (("mm", "cpu", "lowest"), ValueError),
        (("mm", "cpu", 3), TypeError),
        (("relu", "cpu", "set_dtype"), ValueError),
    ],
)
def test_wrong_registrations_are_refused(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        tt.library.register_autocast(*arguments)


def test_every_policy_of_the_schema_has_a_rule() -> None:
    from tt.core.schema.words import AUTOCAST as WORDS
    from tt.plugins.amp.layer import RULES

    assert set(RULES) == set(WORDS) - {"none"}
    used = {d.autocast_policy(kind) for d in REGISTRY.definitions() for kind in ("cpu", "cuda")}
    assert used == {*RULES, ""}


@pytest.mark.parametrize("enabled", [True, False])
def test_a_block_inside_of_an_operator_with_a_policy_ends_with_it(enabled: bool) -> None:
    seen = []
    x = tt.ones(2, 2)
    with scoped():

        @custom_op("amp_test::inside", mutates=())
        def inside(x: tt.Tensor) -> tt.Tensor:
            with tt.autocast("cpu", dtype=tt.float16, enabled=enabled):
                seen.append((x.float() @ x.float()).dtype)
            seen.append((x.float() @ x.float()).dtype)
            return x * 1

        inside.register_autocast("cpu", "lower")
        with tt.autocast("cpu"):
            assert tt.ops.amp_test.inside(x).dtype is tt.bfloat16
            assert (x @ x).dtype is tt.bfloat16 and tt.is_autocast_enabled("cpu")
    assert seen == [tt.float16 if enabled else tt.float32, tt.float32]
    assert not tt.is_autocast_enabled("cpu")
