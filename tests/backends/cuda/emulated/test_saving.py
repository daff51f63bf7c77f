"""Files of tensors on CUDA devices, and tensors that are loaded to them."""

from __future__ import annotations

import io

import pytest

import tt

DTYPES = [tt.bool, tt.uint8, tt.int16, tt.int64, tt.uint32, tt.float16, tt.bfloat16, tt.float32, tt.complex64]


def again(obj, *args, **options):
    file = io.BytesIO()
    tt.save(obj, file, **options)
    file.seek(0)
    return tt.load(file, *args)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_return_to_their_device_or_go_where_they_are_sent(dtype, zipped):
    x = tt.tensor([[0, 1, 2], [3, 4, 5]], dtype=dtype)
    for value, where, device in (
        (x.cuda(), None, "cuda:0"),
        (x.cuda(), "cpu", "cpu"),
        (x.cuda(), {"cuda:0": "cpu"}, "cpu"),
        (x, "cuda", "cuda:0"),
        (x, lambda storage, location: storage.cuda(), "cuda:0"),
        (x.cuda(), lambda storage, location: storage, "cpu"),
    ):
        found = again(value, where, _use_new_zipfile_serialization=zipped)
        assert (str(found.device), found.dtype, found.tolist()) == (device, dtype, x.tolist())


def test_views_on_the_device_share_memory_afterwards():
    base = tt.arange(10.0).cuda()
    a, b, c = again([base, base[2:5], base.view(2, 5).t()])
    b[0] = -1
    assert a[2].item() == -1 and c[2, 0].item() == -1
    assert c.stride() == (1, 5) and not b._is_view()


def test_parameters_and_optimizers_on_the_device_go_on():
    model = tt.nn.Linear(3, 2).cuda()
    optimizer = tt.optim.Adam(model.parameters())
    model(tt.ones(1, 3, device="cuda")).sum().backward()
    optimizer.step()
    found = again({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "cpu")
    other = tt.nn.Linear(3, 2)
    other.load_state_dict(found["model"])
    tt.optim.Adam(other.parameters()).load_state_dict(found["optimizer"])
    assert tt.equal(other.weight.detach(), model.weight.detach().cpu())
