"""Fake tensors: devices that are not there, shapes without data."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DataDependentError, DeviceMismatchError, InplaceError
from tt.core.layers.fake import is_fake, to_fake


def test_factories_make_tensors_of_absent_devices():
    with tt.fake_mode():
        data = [[1.0] * 3] * 2
        for x in (
            tt.zeros(2, 3, device="cuda"),
            tt.randn(2, 3, device="cuda"),
            tt.tensor(data, device="cuda"),
        ):
            assert (x.shape, x.device.type, x.dtype, is_fake(x)) == ((2, 3), "cuda", tt.float32, True)
        assert tt.arange(3, device="cuda").dtype is tt.int64
        assert tt.zeros(2).device.type == "cpu"


def test_operators_keep_the_device_and_infer_shape_dtype_and_strides():
    with tt.fake_mode():
        x, y = tt.ones(2, 3, device="cuda"), tt.ones(3, 4, device="cuda")
    z = x @ y
    assert (z.shape, z.device.type) == ((2, 4), "cuda")
    assert (x.t() + 1).stride() == (1, 3)
    assert x.sum(0).shape == (3,)
    assert (x > 0).dtype is tt.bool
    assert x.max(1).indices.dtype is tt.int64
    assert [p.shape[0] for p in y.split(2)] == [2, 1]


def test_operators_without_a_shape_rule_run_as_their_composites():
    with tt.fake_mode():
        x, w = tt.ones(5, 3, device="cuda"), tt.ones(2, 3, device="cuda")
        assert tt.nn.functional.linear(x, w).shape == (5, 2)
        assert tt.stack([x, x]).shape == (2, 5, 3)


def test_real_tensors_lend_their_shape_inside_the_mode():
    x = tt.ones(2, 3)
    with tt.fake_mode():
        y = x + 1
        assert x.t().untyped_storage() is x.t().untyped_storage()
    assert is_fake(y)
    assert not is_fake(x)
    assert not is_fake(x + 1)


def test_views_share_their_version():
    with tt.fake_mode():
        x = tt.zeros(4, 3, device="cuda")
    view = x[1:].t()
    assert (view.stride(), view.storage_offset(), view._version) == ((1, 3), 3, 0)
    x.add_(1)
    assert view._version == 1
    view.t_()
    assert view.shape == (3, 3)


def test_mixed_devices_are_refused_as_with_data():
    with tt.fake_mode():
        x, y = tt.zeros(2, device="cuda"), tt.zeros(2)
        with pytest.raises(DeviceMismatchError) as caught:
            x + y
        assert [name for name, _ in caught.value.found] == ["self", "other"]
        with pytest.raises(DeviceMismatchError):
            tt.cat([x, y])
        with pytest.raises(DeviceMismatchError):
            tt.zeros(2, device="cuda:0") + tt.zeros(2, device="cuda:1")


def test_what_may_come_along_from_the_cpu_does():
    with tt.fake_mode():
        x = tt.zeros(2, 3, device="cuda")
        assert (x + tt.tensor(1.0)).device.type == "cuda"
        assert (tt.tensor(1.0) + x).device.type == "cuda"
        assert x[tt.tensor([0, 1])].device.type == "cuda"
        assert x.copy_(tt.zeros(3)).device.type == "cuda"


def test_moving_between_devices():
    with tt.fake_mode():
        x = tt.zeros(2, 3, device="cuda")
        assert x.to("cpu").device.type == "cpu"
        assert x.cpu().to("cuda:1").device == tt.device("cuda:1")
        assert x.to(tt.float64).dtype is tt.float64
        assert tt.zeros_like(x, device="cpu").device.type == "cpu"


@pytest.mark.parametrize(
    "call", [lambda x: x.item(), lambda x: bool(x.sum()), lambda x: x.nonzero(), lambda x: x.tolist()]
)
def test_values_are_refused(call):
    x = to_fake(tt.ones(1), "cuda")
    with pytest.raises(DataDependentError, match="fake"):
        call(x)


def test_errors_are_those_of_the_operators():
    with tt.fake_mode():
        x = tt.zeros(2, 3, device="cuda")
        with pytest.raises(RuntimeError, match="do not broadcast"):
            x + tt.zeros(2, device="cuda")
        with pytest.raises(RuntimeError, match="do not multiply"):
            x @ x
        with pytest.raises(RuntimeError, match="cannot hold"):
            tt.zeros(2, dtype=tt.int64).add_(1.5)


def test_a_fake_tensor_cannot_be_written_into_data():
    with pytest.raises(InplaceError, match="fake"):
        tt.zeros(2).add_(to_fake(tt.ones(2)))


def test_out_forms():
    with tt.fake_mode():
        x, out = tt.zeros(2, 3, device="cuda"), tt.empty(2, 3, device="cuda")
        assert tt.add(x, x, out=out) is out


def test_gradients_flow_through_fake_tensors():
    with tt.fake_mode():
        x = tt.ones(3, 2, device="cuda", requires_grad=True)
        (x * x).sum().backward()
        assert (x.grad.shape, x.grad.device.type, is_fake(x.grad)) == ((3, 2), "cuda", True)


def test_printing_needs_no_device():
    x = to_fake(tt.ones(2, 3), "cuda")
    assert "size=(2, 3)" in repr(x)
    assert "cuda" in repr(x)


def test_leaving_the_mode_leaves_factories_real():
    with tt.fake_mode():
        pass
    assert not is_fake(tt.zeros(2))


# --- an operator that nothing says the shape of --------------------------------------------------------------------


@pytest.fixture
def unshaped():
    """An operator with a kernel, and neither a fake nor a shape rule."""
    from tt.library import custom_op

    def declares(): ...

    op = custom_op("unshaped::halved", declares, schema="(Tensor x) -> Tensor")
    op.kernel("cpu", lambda x: x / 2, dtypes=("float32",))
    yield op
    op.remove()


@pytest.mark.parametrize("how", ["meta", "fake", "fake mode", "absent device"])
def test_an_operator_without_a_fake_says_so_and_what_proposes_one(unshaped, how):
    with pytest.raises(tt.errors.MissingFakeError) as caught:
        if how == "meta":
            unshaped(tt.empty(2, device="meta"))
        elif how == "fake":
            unshaped(to_fake(tt.ones(2)))
        elif how == "fake mode":
            with tt.fake_mode():
                unshaped(tt.ones(2))
        else:
            unshaped(to_fake(tt.ones(2), "cuda"))
    first, argument, kernels, hint, see = str(caught.value).splitlines()
    assert first.startswith("unshaped::halved(Tensor x) has kernels, but no fake implementation: ")
    assert argument.startswith("  argument 'x': device=") and kernels == "  kernels exist for: cpu {float32}"
    assert hint.startswith("  try: @op.fake (in YAML: meta:)")
    assert see == "  see: tt ops show unshaped::halved"
    assert isinstance(caught.value, tt.errors.NoKernelError)


def test_an_operator_with_a_composite_needs_no_fake(unshaped):
    unshaped.composite(lambda x: x * 0.5)
    assert unshaped(tt.empty(2, device="meta")).shape == (2,)
    with tt.fake_mode():
        assert unshaped(tt.ones(2, 3)).shape == (2, 3)


def test_operators_without_results_return_none():
    options = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False}
    for params in ([tt.empty(3, device="meta")], [to_fake(tt.ones(3))], [tt.ones(3)]):
        grads = [p.clone() for p in params]
        found = tt.ops._fused_sgd_(params, grads, [], **options, maximize=False, is_first_step=False)
        assert found is None


def test_one_hot_needs_no_data_where_the_number_of_classes_is_given():
    found = tt.nn.functional.one_hot(to_fake(tt.tensor([[0, 2]])), 4)
    assert (found.shape, found.dtype, is_fake(found)) == ((1, 2, 4), tt.int64, True)
    with pytest.raises(DataDependentError):
        tt.nn.functional.one_hot(to_fake(tt.tensor([[0, 2]])))


# --- factories inside of composites ------------------------------------------------------------------------------

PROGRAMS = {
    "angle": lambda x: tt.angle(x),
    "angle of a parameter": lambda x: tt.angle(x.requires_grad_()),
    "interpolate": lambda x: tt.nn.functional.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
    "mode": lambda x: tt.mode(x).values,
    "soft_margin_loss": lambda x: tt.nn.functional.soft_margin_loss(x, x),
    "rrelu": lambda x: tt.nn.functional.rrelu(x, training=True),
    "ormqr": lambda x: tt.ormqr(x, x[0], x),
    "histogram": lambda x: tt.histogram(x, 4).hist,
    "cauchy_": lambda x: x.cauchy_(),
    "geometric_": lambda x: x.geometric_(0.5),
    "log_normal_": lambda x: x.log_normal_(),
    "half": lambda x: x.half(),
    "mapped": lambda x: tt.func.vmap(tt.angle)(x),
}


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:7"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_composites_make_what_they_need_on_the_device_of_fake_tensors(program, device):
    result, expected = program(to_fake(tt.ones(4, 4), device)), program(tt.ones(4, 4, device="meta"))
    assert (str(result.device), is_fake(result)) == (device, True)
    assert (result.shape, result.dtype, result.stride()) == (
        expected.shape,
        expected.dtype,
        expected.stride(),
    )
    with tt.fake_mode():
        assert program(tt.ones(4, 4, device=device)).shape == expected.shape


def test_numbers_that_composites_read_keep_their_data(monkeypatch):
    numbers = []

    def composite(x):
        plain = tt.tensor([2, 3])
        numbers.append((plain.tolist(), tt.zeros(2).tolist(), is_fake(tt.zeros(2, device=x.device))))
        return x + tt.tensor([1.0, 2.0], device=x.device)

    around = next(layer for layer in REGISTRY.layers.values() if layer.name == "fake").around_composite
    result = around(composite, ["cuda"])(to_fake(tt.ones(2), "cuda"))
    assert numbers == [([2, 3], [0.0, 0.0], True)]
    assert (result.device.type, result.shape, is_fake(result)) == ("cuda", (2,), True)
    assert not is_fake(tt.zeros(2))


def test_an_index_that_a_real_device_lacks_is_still_refused():
    with pytest.raises(tt.errors.DeviceError, match="there is no device 'cpu:3'"):
        tt.ones(2).to("cpu:3")
