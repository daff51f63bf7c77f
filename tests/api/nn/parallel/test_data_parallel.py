"""A module on the devices of a process."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.backends.cuda.devices import fake_cuda


def test_without_devices_it_is_the_module_by_another_name():
    inner = tt.nn.Linear(2, 1)
    model = tt.nn.DataParallel(inner, device_ids=[])
    x = tt.ones(3, 2)
    assert tt.equal(model(x), inner(x))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_without_a_gpu_devices_are_ignored(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    inner = tt.nn.Linear(2, 1)
    x = tt.ones(3, 2)
    for devices in (None, [0, 1], ["cpu"]):
        model = tt.nn.DataParallel(inner, device_ids=devices, output_device=1)
        assert model.device_ids == [] and tt.equal(model(x), inner(x))


class Net(tt.nn.Module):
    """Has a layer with buffers, named and nested arguments, and a nested result."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.head = tt.nn.Linear(3, 4), tt.nn.BatchNorm1d(4), tt.nn.Linear(4, 4)

    def forward(self, x, *, more):
        y = self.norm(self.first(x) + more["shift"]).tanh()
        return {"y": self.head(y), "sum": (y.sum(), None)}


@pytest.mark.filterwarnings("ignore:gather")  # the sums of the devices are numbers
def test_several_devices_share_a_batch_and_their_gradients_add_up():
    generator = np.random.default_rng(0)
    data = [tt.from_numpy(generator.normal(size=shape)) for shape in ((7, 3), (7, 4))]
    net = Net().double()
    with tt.no_grad():
        for parameter in net.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    net.norm.eval()
    expected = net(data[0], more={"shift": data[1]})
    expected["y"].square().sum().backward()
    gradients = [parameter.grad.numpy() for parameter in net.parameters()]
    net.zero_grad()
    with fake_cuda(devices=3) as found:
        net.to("cuda:0")
        for parameter in net.parameters():
            parameter.grad = None
        model = tt.nn.DataParallel(net, device_ids=[0, 1, 2], output_device=1)
        x, shift = (tensor.to("cuda:0") for tensor in data)
        result = model(x, more={"shift": shift})
        assert result["y"].device == tt.device("cuda:1") and result["sum"][1] is None
        assert tuple(result["sum"][0].shape) == (3,)
        np.testing.assert_allclose(
            result["y"].detach().cpu().numpy(), expected["y"].detach().numpy(), rtol=1e-12
        )
        result["y"].square().sum().backward()
        for parameter, gradient in zip(net.parameters(), gradients, strict=True):
            assert parameter.grad.device == tt.device("cuda:0")
            np.testing.assert_allclose(parameter.grad.cpu().numpy(), gradient, rtol=1e-10)
        short = model(x[:2], more={"shift": shift[:2]})  # fewer rows than devices
        np.testing.assert_allclose(
            short["y"].detach().cpu().numpy(), expected["y"][:2].detach().numpy(), rtol=1e-12
        )
        assert found.driver.devices == 3


def test_one_device_takes_the_whole_batch_and_a_module_elsewhere_is_refused():
    with fake_cuda(devices=2):
        model = tt.nn.DataParallel(tt.nn.Linear(2, 1), device_ids=[1])
        assert model.module.weight.device == tt.device("cuda:1")
        assert model(tt.ones(3, 2)).device == tt.device("cuda:1")
        both = tt.nn.DataParallel(tt.nn.Linear(2, 1), device_ids=[0, 1])
        with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\) but found .* cpu"):
            both(tt.ones(3, 2))


def test_an_error_of_a_copy_is_raised():
    with fake_cuda(devices=2):
        model = tt.nn.DataParallel(tt.nn.Linear(2, 1).to("cuda:0"))
        assert model.device_ids == [0, 1]
        with pytest.raises(RuntimeError):
            model(tt.ones(4, 3, device="cuda:0"))


def test_the_function_calls_the_module():
    layer = tt.nn.Bilinear(2, 3, 1)
    x, y = tt.randn(4, 2), tt.randn(4, 3)
    assert tt.equal(tt.nn.parallel.data_parallel(layer, (x, y), device_ids=[]), layer(x, y))
    assert tt.nn.parallel.data_parallel(tt.nn.Flatten(), x, [], module_kwargs={}).shape == (4, 2)
