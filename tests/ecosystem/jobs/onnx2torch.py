"""onnx2torch: models of ONNX as modules."""

from __future__ import annotations

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx2torch import convert

from tests.ecosystem import kit

REQUIRES = ("onnx2torch==1.5.15", "onnx")


def _model(nodes, inputs, outputs, weights):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))


def _weights(*shape):
    return kit.rng().standard_normal(shape).astype(np.float32)


def linear():
    model = _model(
        [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        [("x", [2, 3])],
        ["y"],
        {"w": _weights(3, 4), "b": _weights(4)},
    )
    return model(kit.tensor(2, 3)), sorted(model.state_dict())


def convolution():
    model = _model(
        [
            helper.make_node("Conv", ["x", "w"], ["h"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            helper.make_node("MaxPool", ["h"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        ],
        [("x", [1, 2, 4, 4])],
        ["y"],
        {"w": _weights(3, 2, 3, 3)},
    )
    return model(kit.tensor(1, 2, 4, 4))


def gradients():
    model = _model(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Softmax", ["h"], ["y"], axis=-1)],
        [("x", [2, 3])],
        ["y"],
        {"w": _weights(3, 4)},
    )
    x = kit.tensor(2, 3, grad=True)
    model(x)[:, 0].sum().backward()
    return x.grad


def graphs():
    model = _model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", [2])], ["y"], {})
    return (
        [node.op for node in model.graph.nodes],
        onnx.defs.onnx_opset_version() > 12,
        isinstance(model, torch.fx.GraphModule),
    )
