"""On a backend that can neither change arrays nor share memory, programs with views and writes still mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tt
from tt.core.layers.functionalise import ViewStorage
from tt.core.library import REGISTRY

pytest.importorskip("array_api_strict")


@pytest.fixture(scope="module")
def frozen() -> Iterator[str]:
    """A device whose arrays are those of array_api_strict."""
    import array_api_strict

    from tt.library import ArrayApiBackend

    tt.ones(1)  # the plugins are there before the test's own device
    backend = ArrayApiBackend(array_api_strict, "frozen")
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels())]
    yield "frozen"
    for handle in reversed(handles):
        handle.remove()


def same(program: Any, device: str) -> Any:
    """Run a program on the device and on the CPU, compare its results, and return the device's."""
    found, expected = program(device), program("cpu")
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.cpu().numpy(), two.numpy())
        assert one.shape == two.shape
        assert one.dtype is two.dtype
        assert one._version == two._version
    return found


def test_in_place_changes_the_tensor_and_advances_its_version(frozen: str) -> None:
    def program(device: str) -> Any:
        x = tt.arange(6, device=device)
        y = x
        assert x.add_(1) is x
        x.mul_(2)
        return x, y

    same(program, frozen)


def test_a_write_to_the_base_is_seen_through_views_and_back(frozen: str) -> None:
    def program(device: str) -> Any:
        x = tt.zeros(2, 3, device=device)
        row, column, flat = x[1], x.t()[0], x.view(6)
        x.add_(1)
        row.mul_(5)
        column.add_(tt.tensor([10.0, 20.0], device=device))
        flat[5] = -1
        return x, row, column, flat

    x, row, _, _ = same(program, frozen)
    assert isinstance(x._storage, ViewStorage)
    assert row._storage.base is x._storage.base


def test_views_of_views_share_one_content(frozen: str) -> None:
    def program(device: str) -> Any:
        x = tt.arange(24, device=device).view(2, 3, 4)
        inner = x[1].t()[1:3].unsqueeze(0)
        inner.fill_(-7)
        parts = x.split(2, dim=1)
        parts[0].add_(100)
        return x, inner, *parts

    same(program, frozen)


def test_assignment_of_every_kind(frozen: str) -> None:
    def program(device: str) -> Any:
        x = tt.arange(12, device=device).view(3, 4)
        x[0] = 5
        x[:, 1:3] = tt.tensor([7, 8], device=device)
        x[tt.tensor([0, 2], device=device), tt.tensor([0, 3], device=device)] = -1
        x[x > 7] = 0
        return (x,)

    same(program, frozen)


def test_metadata_in_place(frozen: str) -> None:
    def program(device: str) -> Any:
        x = tt.arange(3, device=device).unsqueeze(0)
        y = x[0]
        x.squeeze_()
        x.add_(1)
        return x, y

    same(program, frozen)


def test_writing_where_elements_overlap_is_refused(frozen: str) -> None:
    x = tt.zeros(1, device=frozen).expand(3)
    with pytest.raises(RuntimeError, match="are one in memory"):
        x.add_(1)


def test_gradients_flow_through_changes_in_place(frozen: str) -> None:
    def gradient(device: str) -> Any:
        x = tt.ones(2, 3, device=device, requires_grad=True)
        y = x * 2
        y[0].mul_(3)
        y.t()[1] = 0
        y.sum().backward()
        return x.grad

    np.testing.assert_array_equal(gradient(frozen).cpu().numpy(), gradient("cpu").numpy())


STEPS = (
    lambda x: x.add_(1),
    lambda x: x[0].mul_(3) if x.ndim and x.shape[0] else x,
    lambda x: x.t() if x.ndim <= 2 else x,
    lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x,
    lambda x: x[::2] if x.ndim else x,
    lambda x: x.unsqueeze(0) if x.ndim < 4 else x,
    lambda x: x.flatten() if x.is_contiguous() else x,
    lambda x: x.transpose(0, -1) if x.ndim else x,
    lambda x: x.neg_(),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.integers(0, len(STEPS) - 1), max_size=7))
def test_random_programs_of_views_and_writes_equal_the_cpus(frozen: str, steps: list[int]) -> None:
    def program(device: str) -> Any:
        base = tt.arange(12, device=device).view(3, 4)
        seen = [base]
        for step in steps:
            # Strides are part of the program's course: both devices take the CPU's decisions.
            seen.append(STEPS[step](seen[-1]))
        return [value.clone() for value in seen]

    found, expected = program(frozen), program("cpu")
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.cpu().numpy(), two.numpy())


def test_a_tensor_whose_memory_is_shared_is_resized(frozen: str) -> None:
    base = tt.zeros(6, device=frozen)
    view = base[:3]
    view.add_(1)
    base.resize_(2, 2)
    assert base.tolist() == [[1.0, 1.0], [1.0, 0.0]]
    base.fill_(7)
    assert view.tolist() == [7.0, 7.0, 7.0]
    assert base.resize_(10).shape == (10,) and base[:4].tolist() == [7.0] * 4


COPIES = {
    "a view": lambda y, x: y[1:].copy_(x[1:]),
    "a column": lambda y, x: y.view(2, 3).t()[1].copy_(x[:2]),
    "an item": lambda y, x: y.__setitem__(0, x[3]),
    "a slice": lambda y, x: y.__setitem__(slice(2, 5), x[:3]),
    "data": lambda y, x: y.data.copy_(x),
    "another dtype": lambda y, x: y.copy_(x.to(tt.int64)),
    "a broadcast": lambda y, x: y.view(2, 3).copy_(x[:3]),
    "a pair of views": lambda y, x: y[::2].copy_(x[1::2]),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_copy_to_the_cpu_writes_into_the_memory_that_the_target_has(frozen: str, copy: Any) -> None:
    def program(device: str) -> Any:
        y = tt.zeros(6)
        array, alias, address = y.numpy(), y[:], y.data_ptr()
        copy(y, tt.arange(1.0, 7.0, device=device))
        assert y.data_ptr() == address
        np.testing.assert_array_equal(array, y.numpy())
        return y, alias

    same(program, frozen)


def test_shared_memory_and_flat_parameters_stay_what_they_are_when_values_come_from_the_device(
    frozen: str,
) -> None:
    x = tt.zeros(3).share_memory_()
    x.copy_(tt.ones(3, device=frozen))
    assert x.is_shared() and x.tolist() == [1, 1, 1]
    net = tt.nn.LSTM(2, 3)
    addresses = [weight.data_ptr() for weight in net.parameters()]
    net.load_state_dict({name: tt.ones_like(value).to(frozen) for name, value in net.state_dict().items()})
    assert addresses == [weight.data_ptr() for weight in net.parameters()]
    assert all(bool((weight == 1).all()) for weight in net.parameters())


def test_gradients_flow_through_copies_between_devices_into_views(frozen: str) -> None:
    for there, back in ((frozen, "cpu"), ("cpu", frozen)):
        x = tt.arange(3.0, device=there).requires_grad_()
        y = tt.zeros(4, device=back)
        y[1:].copy_(x)
        (y * y).sum().backward()
        assert x.grad.device.type == there and x.grad.tolist() == [0, 2, 4]


def test_a_copy_between_devices_refuses_elements_that_are_one_in_memory_and_wrong_shapes(frozen: str) -> None:
    with pytest.raises(tt.library.errors.InplaceError, match="one in memory"):
        tt.zeros(3).expand(2, 3).copy_(tt.ones(2, 3, device=frozen))
    with pytest.raises(tt.library.errors.ShapeError):
        tt.zeros(3).copy_(tt.ones(2, 3, device=frozen))


def test_a_number_of_another_device_is_written_as_in_pytorch_and_one_with_dimensions_is_refused(
    frozen: str,
) -> None:
    for there, here in ((frozen, "cpu"), ("cpu", frozen)):
        x = tt.tensor(2.0, device=there, requires_grad=True)
        y = tt.zeros(3, device=here).fill_(x)
        y[[0, 2]] = x * 2
        (y * y).sum().backward()
        assert y.tolist() == [4, 2, 4] and y.device.type == tt.device(here).type
        assert (x.grad.item(), x.grad.device.type) == (36.0, tt.device(there).type)
        with pytest.raises(tt.library.errors.DeviceMismatchError):
            y.detach()[[0, 2]] = tt.ones(2, device=there)
