"""safetensors: files of tensors and of models with shared weights, slices, metadata, all dtypes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors import torch as st

from tests.ecosystem import kit

REQUIRES = ("safetensors==0.8.0",)

DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32,
    torch.uint64,
)  # fmt: skip


def dtypes():
    tensors = {str(dtype): kit.integers(0, 2, (2, 3)).to(dtype) for dtype in DTYPES}
    return st.load(st.save(tensors))


def file():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        st.save_file({"a": kit.tensor(4, 6), "b": kit.tensor(3)}, path, metadata={"made": "by hand"})
        with safe_open(path, framework="pt", device="cpu") as opened:
            part = opened.get_slice("a")
            names = sorted(opened.keys())
            return (
                names,
                opened.metadata(),
                part[1:3, ::1],
                part.get_shape(),
                opened.get_tensor("b"),
                st.load_file(path),
            )


def shared_weights():
    net = torch.nn.Module()
    net.one = torch.nn.Linear(3, 3)
    net.two = torch.nn.Linear(3, 3)
    net.two.weight = net.one.weight
    kit.fill(net)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        try:
            st.save_file(net.state_dict(), path)
        except RuntimeError as error:
            refusal = "share memory" in str(error)
        st.save_model(net, path)
        again = torch.nn.Module()
        again.one, again.two = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        again.two.weight = again.one.weight
        missing = st.load_model(again, path)
    return refusal, [sorted(names) for names in missing], again.state_dict()


def not_contiguous():
    x = kit.tensor(4, 6)
    try:
        st.save({"x": x.t()})
    except ValueError as error:
        return "contiguous" in str(error), st.load(st.save({"x": x.t().contiguous()}))
    return False
