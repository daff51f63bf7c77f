"""DLPack both ways, with and without PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tt


def test_dlpack_shares_memory_both_ways():
    source = np.arange(3.0)
    x = tt.from_dlpack(source)
    source[0] = 9.0
    assert x.tolist() == [9.0, 1.0, 2.0]
    back = np.from_dlpack(x)
    assert back.ctypes.data == source.ctypes.data
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_refuses_strides_that_tensors_do_not_have():
    with pytest.raises(ValueError, match="negative"):
        tt.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(ValueError, match="negative"):
        tt.asarray(Exporter(np.arange(6.0).reshape(2, 3)[:, ::-1]))
    assert tt.from_dlpack(np.arange(3.0)[::-1].copy()).tolist() == [2.0, 1.0, 0.0]


class Exporter:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.torch
def test_dlpack_with_torch_shares_memory_both_ways():
    torch = pytest.importorskip("torch")
    source = torch.arange(6.0).reshape(2, 3).t()
    x = tt.from_dlpack(source)
    assert x.stride() == (1, 3) and x.data_ptr() == source.data_ptr()
    assert torch.from_dlpack(x).data_ptr() == source.data_ptr()
    assert tt.tensor(source).data_ptr() != source.data_ptr()
    assert tt.as_tensor(source).data_ptr() == source.data_ptr()


@pytest.mark.torch
def test_dlpack_shares_bfloat16_with_torch():
    torch = pytest.importorskip("torch")
    source = torch.tensor([[1.0, 2.5], [3.0, 4.0]], dtype=torch.bfloat16).t()
    x = tt.from_dlpack(source)
    assert x.dtype is tt.bfloat16 and x.tolist() == source.tolist() and x.data_ptr() == source.data_ptr()
    back = torch.from_dlpack(x)
    assert back.dtype is torch.bfloat16 and back.data_ptr() == source.data_ptr() and torch.equal(back, source)


def test_dlpack_options_of_the_standard():
    x = tt.arange(3)
    assert tt.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert tt.from_dlpack(x).data_ptr() == x.data_ptr()
    assert tt.from_dlpack(np.arange(3), device="cpu").device.type == "cpu"
    with pytest.raises(ValueError, match="without copying"):
        tt.from_dlpack(np.arange(3), device="meta", copy=False)


@pytest.mark.torch
@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.ones(2, requires_grad=True),
        lambda m: m.ones(2, requires_grad=True) * 1,
        lambda m: m.nn.Parameter(m.ones(2)),
        lambda m: m.eye(2).to_sparse(),
    ],
    ids=["leaf", "history", "parameter", "sparse"],
)
def test_from_dlpack_refuses_of_its_own_tensors_what_it_refuses_of_others(make):
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        with pytest.raises(BufferError):
            library.from_dlpack(make(library))
        with pytest.raises(BufferError):
            library.utils.dlpack.from_dlpack(make(library))
    assert tt.from_dlpack(tt.ones(2, requires_grad=True).detach()).tolist() == [1.0, 1.0]


def test_from_dlpack_refuses_tensors_without_data():
    with pytest.raises(BufferError, match="no memory that DLPack could share"):
        tt.from_dlpack(tt.ones(2, device="meta"))


def test_what_dlpack_cannot_share_is_refused():
    with pytest.raises(TypeError, match="__dlpack__"):
        tt.from_dlpack([1])
    with pytest.raises(BufferError, match="requires a gradient is not exported"):
        tt.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="meta"):
        tt.ones(2, device="meta").__dlpack_device__()
    with pytest.raises(BufferError, match="stream"):
        tt.ones(2).__dlpack__(stream=1)


@pytest.mark.parametrize("version", [None, "2021.12", "2023.12", "2024.12"])
def test_the_array_namespace_of_every_version_is_the_same(version):
    assert tt.ones(1).__array_namespace__(api_version=version) is tt.array_api


def test_an_unknown_version_of_the_array_api_is_refused():
    with pytest.raises(ValueError, match=r"version '2099\.12' .*\n  versions: 2021\.12, "):
        tt.ones(1).__array_namespace__(api_version="2099.12")


def test_a_capsule_of_the_cpu_takes_the_stream_that_asks_for_no_synchronization():
    x = tt.ones(2)
    assert tt.from_dlpack(x.__dlpack__(stream=-1)).data_ptr() == x.data_ptr()
    with pytest.raises(BufferError, match="must be None or -1"):
        x.__dlpack__(stream=1)
