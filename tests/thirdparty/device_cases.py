"""Runs the awkward operators on the CPU and on the device CASES_DEVICE, and prints as JSON where they differ.

CASES_ONLY, names separated by semicolons, chooses among the cases.

The cases are functions of a namespace of tensors that were put on the device.
"""

from __future__ import annotations

import json
import os
import traceback
from types import SimpleNamespace

import numpy as np

import tt
import tt.nn.functional as F

DEVICE = os.environ.get("CASES_DEVICE", "strict")


def tensors(device):
    """Return the same tensors on a device."""
    rng = np.random.default_rng(0)

    def put(array):
        return tt.tensor(array, device=device)

    return SimpleNamespace(
        device=device,
        x=put(rng.standard_normal((3, 4)).astype(np.float32)),
        y=put(rng.standard_normal((3, 4)).astype(np.float32)),
        row=put(rng.standard_normal(4).astype(np.float32)),
        m=put(rng.standard_normal((4, 5)).astype(np.float32)),
        cube=put(rng.standard_normal((2, 3, 4)).astype(np.float32)),
        i=put(rng.integers(0, 3, (3, 4))),
        b=put(rng.integers(0, 2, (3, 4)).astype(bool)),
        index=put(np.array([2, 0, 2])),
        target=put(np.array([1, 0, 3])),
        like=put,
    )


# --- in-place, written as statements: each returns all that it may have changed ---------------------------------


def add_inplace(t):
    x = t.x.clone()
    y = x.add_(t.y, alpha=2)
    return x, y is x


def write_through_a_view(t):
    x = t.x.clone()
    column, flat = x[:, 1], x.view(12)
    column.mul_(10)
    flat[0] = 7
    x[2].zero_()
    return x, column, flat


def write_to_the_base_of_views(t):
    x = t.x.clone()
    row, turned = x[1], x.t()
    x.add_(1)
    return row, turned, x


def assign(t):
    x = t.x.clone()
    x[0] = 5
    x[1:, ::2] = t.row[:2]
    x[..., 3] = t.index.to(tt.float32)
    x[t.b] = -1
    x[t.index[:2], t.target[:2]] = t.row[2:]
    return x


def index_put(t):
    x = t.x.clone()
    x.index_put_((t.index,), t.x, accumulate=True)
    return x


def squeeze_inplace(t):
    x = t.x.clone().view(3, 1, 4)
    y = x.squeeze_(1)
    x[0, 0] = 9
    return x, y is x, list(x.shape)


def transpose_inplace(t):
    x = t.x.clone()
    x.t_()
    x[0, 2] = 1
    return x, list(x.shape)


def copy_inplace(t):
    x = tt.zeros(3, 4, dtype=tt.float64, device=t.device)
    x[1:].copy_(t.x[:2])
    return x


def as_strided_view(t):
    x = t.x.clone()
    x.as_strided((3,), (5,)).fill_(3)
    return x


def out_argument(t):
    x = tt.empty(3, 4, device=t.device)
    tt.add(t.x, t.y, out=x)
    return x


def versions(t):
    x = t.x.clone()
    view = x[0]
    x.add_(1)
    view.mul_(2)
    return x._version, view._version


CASES = {
    # --- pointwise ---
    "add": lambda t: t.x + t.row,
    "add with alpha": lambda t: tt.add(t.x, t.i, alpha=2),
    "mul": lambda t: t.x * 2.5 * t.i,
    "div": lambda t: (
        t.x / t.y,
        t.i / 2,
        tt.div(t.x, 0.3, rounding_mode="floor"),
        tt.div(t.i, 2, rounding_mode="trunc"),
    ),
    "neg": lambda t: -t.x,
    "exp": lambda t: (t.x.exp(), t.i.exp()),
    "comparison": lambda t: (t.x < t.y, t.i == 1, t.x >= 0),
    "where": lambda t: tt.where(t.b, t.x, t.i),
    "clamp": lambda t: (t.x.clamp(-0.5, 0.5), t.x.clamp(min=0)),
    "relu": lambda t: F.relu(t.x),
    # --- indexing ---
    "gather": lambda t: tt.gather(t.x, 1, t.i),
    "reading": lambda t: (
        t.x[1],
        t.x[:, 1:3],
        t.x[..., -1],
        t.x[None, ::2],
        t.x[t.index],
        t.x[t.b],
        t.x[t.index, 1:],
    ),
    "assignment": assign,
    "index_put_": index_put,
    "nonzero": lambda t: t.b.nonzero(),
    # --- reductions ---
    "sum": lambda t: (
        t.x.sum(),
        t.x.sum(1),
        t.x.sum((0, 1), keepdim=True),
        t.i.sum(dtype=tt.float64),
        t.b.sum(),
    ),
    "mean": lambda t: (t.x.mean(), t.x.mean(0, keepdim=True)),
    "max": lambda t: (t.x.max(), *t.x.max(1), tt.max(t.x, t.y)),
    "var_mean": lambda t: tt.var_mean(t.x, 1),
    "cumsum": lambda t: (t.x.cumsum(1), t.i.cumsum(0)),
    # --- shape ---
    "view and reshape": lambda t: (t.x.view(4, 3), t.x.t().reshape(12), t.cube.reshape(-1, 4)),
    "t, transpose and permute": lambda t: (t.x.t(), t.cube.transpose(0, 2), t.cube.permute(2, 0, 1)),
    "expand": lambda t: t.row.expand(3, 4),
    "split and unbind": lambda t: (*t.x.split(2, 1), *t.x.split([1, 2]), *t.x.unbind(1)),
    "as_strided": lambda t: t.x.as_strided((2, 3), (1, 4), 1),
    "squeeze": lambda t: t.x.view(3, 1, 4).squeeze(),
    "cat and stack": lambda t: (tt.cat([t.x, t.i], 1), tt.stack([t.x, t.y], 1)),
    # --- in place ---
    "add_": add_inplace,
    "writing through views": write_through_a_view,
    "writing to the base of views": write_to_the_base_of_views,
    "squeeze_": squeeze_inplace,
    "t_": transpose_inplace,
    "copy_": copy_inplace,
    "as_strided and fill_": as_strided_view,
    "out=": out_argument,
    "versions": versions,
    # --- making ---
    "factories": lambda t: (
        tt.arange(5, device=t.device),
        tt.zeros(2, 3, device=t.device),
        tt.full_like(t.x, 2.5),
        tt.ones_like(t.i),
    ),
    "random": lambda t: (
        tt.manual_seed(3),
        tt.rand(3, device=t.device),
        tt.randn(3, device=t.device),
        tt.randint(0, 9, (4,), device=t.device),
    )[1:],
    "dropout": lambda t: (tt.manual_seed(3), F.dropout(t.x, 0.5))[1],
    # --- linear algebra and networks ---
    "matmul": lambda t: (t.x @ t.m, t.x @ t.row, tt.matmul(t.cube, t.m)),
    "addmm": lambda t: tt.addmm(t.m[0], t.x, t.m, beta=0.5, alpha=2),
    "linear": lambda t: F.linear(t.x, t.m.t(), t.m[0]),
    "softmax": lambda t: (tt.softmax(t.x, 1), tt.log_softmax(t.x, 0)),
    "nll_loss": lambda t: F.nll_loss(tt.log_softmax(t.x, 1), t.target),
    "cross_entropy": lambda t: F.cross_entropy(t.x, t.target, reduction="none"),
    "svd": lambda t: tt.linalg.svd(t.x, full_matrices=False)[1],
    "sort": lambda t: (*t.x.sort(1), *tt.sort(t.i, 0, descending=True, stable=True)),
    "unique": lambda t: (*tt.unique(t.i, return_inverse=True, return_counts=True),),
    # --- moving and reading ---
    "to": lambda t: (t.x.to(tt.float64), t.x.to("cpu"), t.i.to(tt.bool)),
    "item and clone": lambda t: (t.x[0, 0].item(), t.x.clone()),
    "tolist and numpy": lambda t: (t.x.tolist(), t.i.cpu().numpy().tolist()),
    "DLPack": lambda t: (np.from_dlpack(t.x).tolist(), np.from_dlpack(t.cube.transpose(0, 2)).tolist()),
    "printing": lambda t: repr(t.x).replace(f", device='{t.device}'", ""),
    # --- masks, order and transforms ---
    "masks": lambda t: (
        t.x[t.x > 0],
        t.x.masked_select(t.b),
        t.x.masked_fill(t.b, 7),
        t.b[t.b],
        t.x[t.b[0, 0]],
    ),
    "topk and kthvalue": lambda t: (*t.x.topk(2, 1), *t.x.kthvalue(2, 0), t.x.median()),
    "cumprod, cummax and logcumsumexp": lambda t: (t.x.cumprod(1), *t.x.cummax(0), t.x.logcumsumexp(1)),
    "bincount": lambda t: (t.i.view(-1).bincount(), t.index.bincount(t.row[:3], minlength=5)),
    "searchsorted": lambda t: tt.searchsorted(t.row.sort().values, t.x),
    "linear algebra": lambda t: (
        tt.linalg.inv(t.x @ t.x.t()),
        tt.linalg.solve(t.x @ t.x.t(), t.x),
        tt.linalg.cholesky(t.x @ t.x.t() + tt.eye(3, device=t.device)),
        tt.linalg.det(t.x @ t.x.t()),
        tt.linalg.matrix_norm(t.x),
    ),
    "fft": lambda t: (
        tt.view_as_real(tt.fft.rfft(t.x)),
        tt.fft.irfft(tt.fft.rfft(t.x)),
        tt.fft.fftshift(t.x),
    ),
    "scatter": lambda t: (
        t.x.scatter(1, t.i, t.y),
        t.x.scatter_add(1, t.i, t.y),
        t.x.index_add(0, t.index, t.y),
        t.x.scatter_reduce(0, t.i, t.y, "amax"),
    ),
    "convolution and pooling": lambda t: (
        F.conv1d(t.cube, t.x[None, :, :2].expand(5, 3, 2)),
        F.max_pool1d(t.cube, 2),
        F.avg_pool1d(t.cube, 2),
        F.layer_norm(t.x, (4,)),
    ),
    "random of every kind": lambda t: (
        tt.manual_seed(11),
        tt.rand(5, dtype=tt.float64, device=t.device),
        tt.randn(3, dtype=tt.float64, device=t.device),
        tt.randn(3, dtype=tt.complex64, device=t.device).abs(),
        tt.randint(-(2**62), 2**62, (3,), device=t.device),
        tt.randint(0, 2**40, (3,), device=t.device),
        tt.randperm(7, device=t.device),
        tt.bernoulli(t.b.to(tt.float32)),
        tt.empty(3, device=t.device).uniform_(-1, 1),
        tt.multinomial(t.x.abs(), 2),
    )[1:],
}


def gradients(function):
    """Return the gradients of a scalar function of x, y, m and row."""

    def case(t):
        leaves = {name: getattr(t, name).clone().requires_grad_() for name in ("x", "y", "m", "row")}
        function(SimpleNamespace(**{**vars(t), **leaves})).backward()
        return [leaf.grad for leaf in leaves.values() if leaf.grad is not None]

    return case


def changed_in_place(t):
    x = t.x * 2
    x[:, 0].mul_(t.y[:, 1])
    x.add_(t.row)
    return (x * x).sum()


GRADIENTS = {
    "gradient of arithmetic": lambda t: ((t.x * t.y + t.row) / (t.y * t.y + 1)).sum(),
    "gradient of a network": lambda t: F.cross_entropy(F.relu(t.x @ t.m) @ t.m.t(), t.target),
    "gradient of indexing": lambda t: (t.x[t.index] * t.x[:, 1:2]).sum() + tt.gather(t.y, 1, t.i).exp().sum(),
    "gradient of views": lambda t: (t.x.t().reshape(12)[2:6] * t.row.expand(3, 4).sum(0)).sum(),
    "gradient through changes in place": changed_in_place,
}
CASES |= {name: gradients(function) for name, function in GRADIENTS.items()}


def plain(value):
    """Return a result as plain data: dtype, shape and values of tensors."""
    if isinstance(value, tt.Tensor):
        return [value.dtype.name, list(value.shape), value.to("cpu").tolist()]
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def differs(left, right):
    """Tell where two plain results differ by more than rounding."""
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{left} and {right}"
        return next((found for a, b in zip(left, right, strict=True) if (found := differs(a, b))), "")
    if isinstance(left, float) and isinstance(right, float):
        close = (
            left == right
            or abs(left - right) <= 1e-5 * max(1.0, abs(left))
            or (left != left and right != right)
        )
        return "" if close else f"{left!r} and {right!r}"
    return "" if left == right else f"{left!r} and {right!r}"


def devices(value):
    """Return the device types of all tensors in a result."""
    if isinstance(value, tt.Tensor):
        return {value.device.type}
    return set().union(*map(devices, value)) if isinstance(value, list | tuple) else set()


def run(function):
    """Return the fault of a case on the device, or an empty string."""
    try:
        expected = function(tensors("cpu"))
    except Exception:
        return "on cpu: " + traceback.format_exc()
    try:
        found = function(tensors(DEVICE))
        if not devices(found) <= {DEVICE, "cpu"}:
            return f"the results are on {devices(found)}"
        return differs(plain(found), plain(expected))
    except Exception:
        return traceback.format_exc()


if __name__ == "__main__":
    chosen = os.environ.get("CASES_ONLY", "").split(";") if os.environ.get("CASES_ONLY") else list(CASES)
    print(json.dumps({name: run(CASES[name]) for name in chosen}))
