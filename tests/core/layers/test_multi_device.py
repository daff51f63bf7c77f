"""Device types with several devices: where tensors are, refusals, and how data moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY
from tt.errors import DeviceError, DeviceMismatchError
from tt.testing.conformance import check_conformance

strict = pytest.importorskip("array_api_strict")

FIRST, SECOND = strict.Device("CPU_DEVICE"), strict.Device("device1")


@pytest.fixture(scope="module", autouse=True)
def two() -> Iterator[None]:
    """A device type with two devices, whose library refuses to mix their arrays."""
    from tt.library import ArrayApiBackend

    tt.ones(1)  # the plugins are there before the test's own device
    backend = ArrayApiBackend(strict, "two", [FIRST, SECOND])
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    yield
    for handle in reversed(handles):
        handle.remove()


@pytest.fixture
def x() -> tt.Tensor:
    """A tensor on the second device."""
    return tt.arange(6.0, device="two:1").view(2, 3)


def place(tensor: tt.Tensor) -> tuple[str, object]:
    """Return where the tensor says that it is, and where its array is."""
    return str(tensor.device), tensor._handle.device


def test_the_bare_type_means_the_current_device() -> None:
    module = tt.get_device_module("two")
    assert (module.device_count(), module.current_device()) == (2, 0)
    assert place(tt.zeros(2, device="two")) == ("two:0", FIRST)
    with module.device(1):
        assert place(tt.zeros(2, device="two")) == ("two:1", SECOND)
        assert place(tt.tensor([1.0], device="two")) == ("two:1", SECOND)
        assert place(tt.zeros(2, device="two:0")) == ("two:0", FIRST)
    assert module.current_device() == 0
    module.set_device("two:1")
    try:
        assert place(tt.rand(2, device="two")) == ("two:1", SECOND)
    finally:
        module.set_device(0)


@pytest.mark.parametrize("make", [
    lambda d: tt.zeros(2, device=d), lambda d: tt.tensor([1.0, 2.0], device=d), lambda d: tt.arange(2, device=d),
    lambda d: tt.randn(2, device=d), lambda d: tt.eye(2, device=d), lambda d: tt.linspace(0, 1, 2, device=d),
    lambda d: tt.full((2,), 3.0, device=d), lambda d: tt.randperm(2, device=d), lambda d: tt.ones(2).to(d),
    lambda d: tt.from_numpy(np.ones(2)).to(d),
])  # fmt: skip
def test_new_tensors_are_where_they_are_asked_to_be(make) -> None:
    for index, native in enumerate([FIRST, SECOND]):
        assert place(make(f"two:{index}")) == (f"two:{index}", native)
        with tt.device(f"two:{index}"):
            assert place(make(tt.get_default_device())) == (f"two:{index}", native)


def test_results_are_where_the_arguments_are(x: tt.Tensor) -> None:
    results = [
        x + 1, x.exp(), x @ x.t(), x.sum(), x.max(1).values, x[0], x[x > 2], x.t(), x.reshape(3, 2), tt.cat([x, x]),
        x.split(1)[1], tt.zeros_like(x), x.new_ones(3), x.softmax(1), x.sort().indices, x.to(tt.int64), x.clone(),
        tt.nn.functional.dropout(x), x.std(), tt.linalg.svd(x).S, x.nonzero(), tt.unique(x), x + tt.tensor(2.0),
    ]  # fmt: skip
    assert {place(result) for result in results} == {("two:1", SECOND)}


def test_changes_in_place_stay_where_the_tensor_is(x: tt.Tensor) -> None:
    view = x[:, 1]
    x.add_(1)
    view.mul_(10)
    x[0, 0] = -1
    assert x.tolist() == [[-1.0, 20.0, 3.0], [4.0, 50.0, 6.0]]
    assert place(x) == place(view) == ("two:1", SECOND)


def test_gradients_are_where_their_tensors_are(x: tt.Tensor) -> None:
    leaf = x.clone().requires_grad_()
    (leaf.exp() * tt.tensor(2.0)).sum().backward()
    assert place(leaf.grad) == ("two:1", SECOND)
    np.testing.assert_allclose(leaf.grad.cpu().numpy(), 2 * np.exp(np.arange(6).reshape(2, 3)), rtol=1e-6)


def test_tensors_on_two_devices_of_a_type_are_refused(x: tt.Tensor) -> None:
    other = tt.ones(2, 3, device="two:0")
    with pytest.raises(DeviceMismatchError, match="lie on two:1 and two:0") as caught:
        x + other
    assert caught.value.found == (("self", "two:1"), ("other", "two:0"))
    assert "try: other.to('two:1')" in str(caught.value)
    with pytest.raises(DeviceMismatchError, match=r"argument 'tensors\[1\]' is on two:0"):
        tt.cat([x, other])
    with pytest.raises(DeviceMismatchError):
        x.add_(other)
    with pytest.raises(DeviceMismatchError):
        tt.add(x, x, out=other)
    with pytest.raises(DeviceMismatchError):
        x[tt.tensor([0], device="two:0")]


def test_data_moves_when_it_is_told_to(x: tt.Tensor) -> None:
    moved = x.to("two:0")
    assert place(moved) == ("two:0", FIRST) and moved.tolist() == x.tolist()
    assert x.to("two:1") is x
    assert place(x.to("two")) == ("two:0", FIRST)  # without a number: the current one
    assert place(x.to("two:0", tt.int64)) == ("two:0", FIRST)
    target = tt.zeros(2, 3, device="two:0", dtype=tt.float64)
    assert target.copy_(x) is target and place(target) == ("two:0", FIRST) and target.tolist() == x.tolist()
    assert x.cpu().device == tt.device("cpu") and x.cpu().tolist() == x.tolist()
    moved.add_(1)
    assert x[0, 0].item() == 0.0


def test_a_copy_shares_nothing_with_its_source() -> None:
    source = tt.zeros(3, device="two:0")
    host = source.cpu()
    host.add_(1)
    again = host.to("two:0")
    host.add_(1)
    assert (source.tolist(), again.tolist()) == ([0.0] * 3, [1.0] * 3)


@pytest.mark.parametrize("make", [
    lambda: tt.zeros(2, device="two:2"), lambda: tt.tensor([1.0], device="two:2"), lambda: tt.zeros(2).to("two:2"),
    lambda: tt.ones(2, device="two:0").to("two:2"), lambda: tt.get_device_module("two").set_device(2),
])  # fmt: skip
def test_a_device_that_is_not_there_is_refused(make) -> None:
    with pytest.raises(
        DeviceError, match="there is no device 'two:2'; there are 2 devices of its type, two:0 to two:1"
    ):
        make()


def test_types_with_one_device_refuse_other_indexes_and_show_none() -> None:
    with pytest.raises(DeviceError, match="there is no device 'cpu:1': the only one of its type is 'cpu'"):
        tt.zeros(2, device="cpu:1")
    assert str(tt.zeros(2, device="cpu:0").device) == "cpu"


def test_the_same_seed_gives_the_numbers_of_the_cpu_on_every_device() -> None:
    for device in ("two:0", "two:1"):
        tt.manual_seed(3)
        found = tt.randn(5, device=device)
        tt.manual_seed(3)
        np.testing.assert_allclose(found.cpu().numpy(), tt.randn(5).numpy(), rtol=1e-6)


def test_a_sample_of_the_operators_conforms_on_the_second_device() -> None:
    names = ["add", "where", "sum", "matmul", "cat", "index*", "scatter*", "sort", "cumsum", "rand*", "conv2d",
             "linalg_solve", "fft_rfft", "slice", "masked_select", "unique*"]  # fmt: skip
    report = check_conformance("two:1", ops=names, dtypes=["float32"])
    assert [str(f) for f in report.failures if f.check != "view"] == [] and report.missing == []
    assert report.checks["values"] > 100


def test_types_with_one_device_do_not_meet_the_layer() -> None:
    from tt.core.types.keys import KEYS

    assert "placement" not in KEYS.names("layer", tt.ones(2)._keys)
    assert "placement" in KEYS.names("layer", tt.ones(2, device="two")._keys)
