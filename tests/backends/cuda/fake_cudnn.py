"""The module `cudnn` without cuDNN: graphs are recorded as they are described, and executed by PyTorch on the host."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

KINDS = {"HALF": "float16", "BFLOAT16": "bfloat16", "FLOAT": "float32", "DOUBLE": "float64"}


class NotSupportedError(RuntimeError):
    """What cuDNN raises for graphs that it does not serve."""


class Names(SimpleNamespace):
    """An enumeration whose members are their names."""

    def __init__(self, *names: str) -> None:
        super().__init__(**{name: name for name in names})


class Tensor:
    """A tensor of a graph, with the setters of the real one."""

    def __init__(self, dim: Any = None, stride: Any = None, data_type: Any = None, uid: Any = None) -> None:
        self.dim, self.stride, self.data_type, self.uid, self.output = dim, stride, data_type, uid, False

    def set_output(self, value: bool) -> Tensor:
        self.output = value
        return self

    def set_uid(self, value: int) -> Tensor:
        self.uid = value
        return self

    def set_data_type(self, value: str) -> Tensor:
        self.data_type = value
        return self

    def set_dim(self, value: list[int]) -> Tensor:
        self.dim = value
        return self

    def set_stride(self, value: list[int]) -> Tensor:
        self.stride = value
        return self


class Graph:
    """A graph: what was called, in order."""

    def __init__(self, module: FakeCudnn, **types: Any) -> None:
        self.module, self.types = module, types
        self.calls: list[tuple[str, dict[str, Any], list[Tensor]]] = []
        self.steps: list[str] = []
        self.selected = 0
        self.notes: list[str] = []

    def tensor(self, *, dim: Any, stride: Any, data_type: Any, uid: int) -> Tensor:
        assert len(dim) == len(stride) and data_type in KINDS
        return Tensor(list(dim), list(stride), data_type, uid)

    def _called(self, name: str, count: int, given: dict[str, Any]) -> Any:
        found = [Tensor() for _ in range(count)]
        self.calls.append((name, given, found))
        return found[0] if count == 1 else found

    def conv_fprop(self, *, image: Tensor, weight: Tensor, **how: Any) -> Any:
        return self._called("conv_fprop", 1, {"one": image, "two": weight, **how})

    def conv_dgrad(self, *, loss: Tensor, filter: Tensor, **how: Any) -> Any:
        return self._called("conv_dgrad", 1, {"one": loss, "two": filter, **how})

    def conv_wgrad(self, *, image: Tensor, loss: Tensor, **how: Any) -> Any:
        return self._called("conv_wgrad", 1, {"one": image, "two": loss, **how})

    def bias(self, *, input: Tensor, bias: Tensor) -> Any:
        return self._called("bias", 1, {"input": input, "bias": bias})

    def sdpa(self, **given: Any) -> Any:
        return self._called("sdpa", 2, given)

    def sdpa_backward(self, **given: Any) -> Any:
        return self._called("sdpa_backward", 3, given)

    # --- planning ----------------------------------------------------------------------------------------------

    def validate(self) -> None:
        self.steps.append("validate")
        for name, given, results in self.calls:
            for tensor in [*given.values(), *(r for r in results if r.output)]:
                if isinstance(tensor, Tensor) and (tensor.uid or tensor.output):
                    assert tensor.dim and tensor.stride and tensor.data_type, name

    def build_operation_graph(self) -> None:
        self.steps.append("build_operation_graph")

    def create_execution_plans(self, modes: list[str]) -> None:
        assert modes == ["A", "FALLBACK"]
        self.steps.append("create_execution_plans")

    def deselect_numeric_notes(self, notes: list[str]) -> None:
        assert self.steps[-1] == "create_execution_plans", "a filter needs plans to filter"
        self.notes += notes

    def check_support(self) -> None:
        self.steps.append("check_support")
        if self.module.refuses is not None and self.calls[-1][0] in self.module.refuses:
            raise self.module.refuses[self.calls[-1][0]]

    def build_plans(self) -> None:
        self.steps.append("build_plans")

    def get_execution_plan_count(self) -> int:
        return len(self.module.times)

    def build_plan_at_index(self, index: int) -> None:
        if self.module.times[index] is None:
            raise NotSupportedError("this plan is barred")
        self.selected = index

    def get_workspace_size(self) -> int:
        return 1024 * (1 + self.selected)

    # --- executing ---------------------------------------------------------------------------------------------

    def execute(self, pointers: dict[int, int], workspace: int, *, handle: Any) -> None:
        assert self.steps[-1] == "build_plans" and workspace and handle.stream
        self.module.executed.append((self.calls[0][0], handle.stream))
        self.module.clock += self.module.times[self.selected]
        if self.module.fails is not None:
            raise self.module.fails
        values: dict[int, Any] = {}

        def read(tensor: Tensor) -> Any:
            if id(tensor) not in values:
                values[id(tensor)] = torch.from_numpy(view(tensor, pointers[tensor.uid]).astype(np.float64))
            return values[id(tensor)]

        for name, given, results in self.calls:
            found = getattr(self, f"_{name}")(read, given, results)
            for tensor, value in zip(results, found, strict=True):
                values[id(tensor)] = value
                if tensor.output:
                    target = view(tensor, pointers[tensor.uid])
                    target[...] = value.numpy().astype(target.dtype)

    def _conv_fprop(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        x, w = read(given["one"]), read(given["two"])
        return [conv(x, w, given, x.shape[1] // w.shape[1])]

    def _conv_dgrad(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        y, w = read(given["one"]), read(given["two"])
        x = torch.zeros(results[0].dim, dtype=torch.float64, requires_grad=True)
        conv(x, w, given, x.shape[1] // w.shape[1]).backward(y)
        return [x.grad]

    def _conv_wgrad(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        x, y = read(given["one"]), read(given["two"])
        w = torch.zeros(results[0].dim, dtype=torch.float64, requires_grad=True)
        conv(x, w, given, x.shape[1] // w.shape[1]).backward(y)
        return [w.grad]

    def _bias(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        return [read(given["input"]) + read(given["bias"])]

    def _weights(self, q: Any, k: Any, given: dict[str, Any]) -> Any:
        scores = q @ k.transpose(-1, -2) * given["attn_scale"]
        if given["use_causal_mask"]:
            scores = scores.masked_fill(~torch.ones(scores.shape, dtype=bool).tril(), -torch.inf)
        return scores

    def _sdpa(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        q, k, v = (read(given[name]) for name in "qkv")
        scores = self._weights(q, k, given)
        return [torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1, keepdim=True)]

    def _sdpa_backward(self, read: Any, given: dict[str, Any], results: Any) -> Any:
        q, k, v = (read(given[name]).clone().requires_grad_() for name in "qkv")
        weights = torch.exp(self._weights(q, k, given) - read(given["stats"]))
        slope = read(given["dO"])
        mean = (slope * read(given["o"])).sum(-1, keepdim=True)
        changes = weights * (slope @ v.transpose(-1, -2) - mean) * given["attn_scale"]
        found = (changes @ k, changes.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ slope)
        return [one.detach() for one in found]


def conv(x: Any, w: Any, given: dict[str, Any], groups: int) -> Any:
    """Return the convolution that a call describes."""
    assert given["pre_padding"] == given["post_padding"]
    function = {4: torch.nn.functional.conv2d, 5: torch.nn.functional.conv3d}[x.ndim]
    return function(x, w, None, given["stride"], given["pre_padding"], given["dilation"], groups)


def view(tensor: Tensor, pointer: int) -> Any:
    """Return the memory of a tensor as an array."""
    name = KINDS[tensor.data_type]
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    last = sum((size - 1) * stride for size, stride in zip(tensor.dim, tensor.stride, strict=True))
    memory = (ctypes.c_uint8 * ((last + 1) * dtype.itemsize)).from_address(pointer)
    strides = tuple(stride * dtype.itemsize for stride in tensor.stride)
    return np.ndarray(tuple(tensor.dim), dtype, memory, strides=strides)


class FakeCudnn:
    """The part of the module that tt uses `cudnn`."""

    cudnnGraphNotSupportedError = NotSupportedError  # noqa: N815 - the module's name
    data_type = Names(*KINDS)
    heur_mode = Names("A", "FALLBACK")
    numerical_note = Names("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "NONDETERMINISTIC")

    def __init__(self) -> None:
        self.refuses: dict[str, Exception] | None = None
        self.fails: Exception | None = None
        self.times: list[float | None] = [1.0]  # how long each plan takes, None where it is not served
        self.clock = 0.0
        self.graphs: list[Graph] = []
        self.handles: list[Any] = []
        self.executed: list[tuple[str, int]] = []

    def pygraph(
        self, *, io_data_type: Any, intermediate_data_type: Any, compute_data_type: Any, handle: Any
    ) -> Graph:
        graph = Graph(self, io=io_data_type, between=intermediate_data_type, compute=compute_data_type)
        assert handle in self.handles
        self.graphs.append(graph)
        return graph

    def create_handle(self) -> Any:
        self.handles.append(SimpleNamespace(stream=0))
        return self.handles[-1]

    def set_stream(self, handle: Any, stream: int) -> None:
        handle.stream = stream
