"""Devices: parsing, identity, pickling, and the default device of a thread."""

from __future__ import annotations

import copy
import pickle
import re
import threading

import pytest

import tt
from tt.core.errors import DeviceError, UnknownNameError
from tt.core.types.device import (
    NAMED_DEVICES,
    Device,
    device,
    get_default_device,
    set_default_device,
    to_device,
)


def test_a_device_is_made_from_a_string_from_a_type_and_an_index_or_from_a_device():
    assert (device("cuda:1").type, device("cuda:1").index) == ("cuda", 1)
    assert (device("cuda", 1).type, device("cuda", 1).index) == ("cuda", 1)
    assert (device(type="cuda", index=1).type, device("cpu").index) == ("cuda", None)
    assert device(device("cuda:1")) is device("cuda:1")
    assert device(3) == device("cuda:3")


def test_devices_are_equal_by_type_and_index_and_hash_accordingly():
    assert device("cuda:0") == device("cuda", 0)
    assert device("cuda") != device("cuda:0")
    assert device("cpu") != "cpu"
    assert len({device("cuda:0"), device("cuda", 0), device("cuda:1"), device("cpu")}) == 3


def test_a_device_prints_as_pytorch_s_does():
    assert repr(device("cuda:1")) == "device(type='cuda', index=1)"
    assert repr(device("cpu")) == "device(type='cpu')"
    assert (str(device("cuda:1")), str(device("cpu"))) == ("cuda:1", "cpu")


@pytest.mark.parametrize("text", ["cpu", "cuda", "cuda:7", "meta"])
def test_pickling_and_copying_give_the_same_object(text):
    made = device(text)
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made


@pytest.mark.parametrize("text", ["cuda:", "cuda:-1", "cuda:01", "cuda:x", ":0", "", "cuda:0:0", "cu da"])
def test_a_malformed_string_is_refused(text):
    with pytest.raises(DeviceError, match="Invalid device string"):
        device(text)


def test_an_index_given_twice_a_negative_one_and_other_types_are_refused():
    with pytest.raises(DeviceError, match="the index of a device is given once"):
        device("cuda:0", 1)
    with pytest.raises(DeviceError, match="cannot be negative"):
        device("cuda", -1)
    with pytest.raises(TypeError, match="the index of a device is an int, not str"):
        device("cuda", "0")
    with pytest.raises(TypeError, match="not NoneType"):
        device(None)
    with pytest.raises(TypeError, match="not bool"):
        device(True)


def test_an_unknown_device_type_names_the_nearest_and_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown device 'cdua'; did you mean 'cuda'") as caught:
        device("cdua:0")
    assert {"cpu", "cuda", "meta"} <= set(caught.value.candidates)


def test_a_device_cannot_be_changed():
    with pytest.raises(AttributeError, match="'index' of a device is not writable"):
        device("cpu").index = 3


def test_tensors_of_the_only_device_of_a_type_show_no_index():
    assert tt.zeros(2, device="cpu:0").device == tt.zeros(2).to("cpu:0").device == device("cpu")
    with pytest.raises(DeviceError, match="there is no device 'cpu:1'"):
        tt.zeros(2, device="cpu:1")


# --- the default device -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def restore_default_device():
    yield
    set_default_device(None)


def test_the_default_device_is_the_cpu_until_it_is_set():
    assert get_default_device() == device("cpu")
    set_default_device("meta")
    assert get_default_device() == to_device(None) == device("meta")
    set_default_device(None)
    assert get_default_device() == device("cpu")


def test_a_device_is_the_default_of_its_block_and_blocks_nest():
    set_default_device("cuda:1")
    with device("meta") as inner:
        assert inner is device("meta") is get_default_device()
        with device("cpu"):
            assert get_default_device() == device("cpu")
        assert get_default_device() == device("meta")
    assert get_default_device() == device("cuda:1")


def test_leaving_a_block_by_an_exception_restores_the_default():
    with pytest.raises(KeyError), device("meta"):
        raise KeyError
    assert get_default_device() == device("cpu")


def test_setting_the_default_inside_a_block_takes_effect_after_it():
    with device("meta"):
        set_default_device("cuda")
        assert get_default_device() == device("meta")
    assert get_default_device() == device("cuda")


def test_the_default_device_belongs_to_a_thread():
    set_default_device("meta")
    seen: list[Device] = []

    def other() -> None:
        seen.append(get_default_device())
        with device("cuda:2"):
            seen.append(get_default_device())

    with device("cuda:1"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [device("cpu"), device("cuda:2")]
    assert get_default_device() == device("meta")


@pytest.mark.torch
def test_devices_agree_with_pytorch():
    torch = pytest.importorskip("torch")
    for arguments in [("cpu",), ("cuda",), ("cuda:1",), ("cuda", 1), ("meta",)]:
        theirs, ours = torch.device(*arguments), device(*arguments)
        assert (ours.type, ours.index, str(ours), repr(ours)) == (
            theirs.type,
            theirs.index,
            str(theirs),
            repr(theirs),
        )


@pytest.mark.torch
def test_every_device_type_of_pytorch_can_be_named_and_compared():
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as refused:
        torch.device("foo")
    names = re.search(r"one of (.*) device type", str(refused.value))[1].split(", ")
    assert {*NAMED_DEVICES, "cpu", "cuda", "meta"} == set(names)
    for name in names:
        one, same, indexed = device(name), device(name), device(f"{name}:0")
        assert one is same and one.type == name and one != indexed and one != device("cpu:3")
        assert device(name, 0) is indexed and pickle.loads(pickle.dumps(indexed)) is indexed


@pytest.mark.parametrize(
    "use",
    [
        lambda: tt.ones(2, device="mps"),
        lambda: tt.tensor(1.0, device="mps:0"),
        lambda: tt.ones(2).to("mps"),
        lambda: tt.empty_like(tt.ones(2), device=tt.device("mps")),
        lambda: tt.nn.Linear(1, 1).to("mps"),
        lambda: tt.Generator(device="mps"),
    ],
)
def test_using_a_device_that_no_plugin_brings_says_so(use):
    assert tt.device("mps") not in (tt.ones(1).device, tt.get_default_device())
    with pytest.raises(RuntimeError, match="mps is a device type of PyTorch that no installed plugin brings"):
        use()
    assert "mps" not in Device.known_types()


def test_a_device_that_was_named_before_its_backend_came_stays_the_same_object(monkeypatch):
    monkeypatch.setattr(Device, "_known", dict(Device._known))
    monkeypatch.setattr(Device, "_absent", {})
    named = device("maia:1")
    Device.declare("maia")
    assert device("maia:1") is named and "maia" in Device.known_types() and not Device._absent


def test_an_unknown_device_is_the_error_that_pytorch_raises():
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind, match="unknown device 'foo'"):
            tt.device("foo")
