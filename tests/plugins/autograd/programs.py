"""Small programs that run on tt and on torch alike: each takes the module and returns tensors to compare."""

from __future__ import annotations

from typing import Any


def rows_written_into_a_buffer(lib: Any) -> list[Any]:
    w, x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.zeros(3, 3)
    x[0].copy_(w)
    x[1].copy_(w * 2)
    (x * x).sum().backward()
    return [w.grad, x.detach()]


def a_view_made_before_its_base_changed(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    v = x[1:]
    x.mul_(w)
    (v * v).sum().backward()
    return [w.grad]


def a_view_changed_twice(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    v = x[1:]
    v.mul_(3)
    v.exp_()
    ((x * x).sum() + v.sum()).backward()
    return [w.grad]


def two_overlapping_views(lib: Any) -> list[Any]:
    w = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    x = w * 2
    v, u = x.t()[0], x.view(-1)[2:]
    v.mul_(w[:, 1])
    u.sigmoid_()
    ((x * x).sum() + (v * 2).sum()).backward()
    return [w.grad]


def a_sibling_view_without_history(lib: Any) -> list[Any]:
    w, x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.ones(3)
    v, sibling = x[0], x[1]
    v.mul_(w[0])
    v.add_(w[1])
    (sibling * w[2] + x.sum()).backward()
    return [w.grad]


def a_sibling_view_that_is_used_later(lib: Any) -> list[Any]:
    w, x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.zeros(3)
    row = x[0]
    x.copy_(w)
    (row * 3).backward()
    return [w.grad, lib.tensor(float(row.requires_grad))]


def a_view_of_a_view(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    a = x[:2]
    b = a[1:]
    b.mul_(w[:1])
    a.mul_(b.sum())
    (x * a.sum()).sum().backward()
    return [w.grad]


def a_buffer_changed_as_a_whole(lib: Any) -> list[Any]:
    w, x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.zeros(3)
    x.mul_(w)
    x.add_(w)
    x.mul_(w)
    x.sum().backward()
    return [w.grad]


def zeroed(lib: Any) -> list[Any]:
    w = lib.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    x = w * 1
    x.zero_()
    (x * w).sum().backward()
    return [w.grad]


def metadata_changed(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 1
    x.unsqueeze_(0)
    x.mul_(w)
    x.sum().backward()
    return [w.grad]


def retained_across_a_change(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    x.retain_grad()
    x.mul_(w)
    (x * x).sum().backward()
    return [w.grad, x.grad]


def detached_and_changed(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * 2
    x.detach().add_(1)
    (x * 3).sum().backward()
    return [w.grad, x.detach()]


def masks_and_lists_as_indices(lib: Any) -> list[Any]:
    w, mask, x = (
        lib.tensor([1.0, 2.0, 3.0], requires_grad=True),
        lib.tensor([True, False, True]),
        lib.zeros(3),
    )
    x[mask] = w[mask]
    x[1] = w[0] * 5
    y = x.clone()
    y[[0, 0]] = w[2]
    (y * y).sum().backward()
    return [w.grad]


def second_derivative(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=lib.float64)
    (g,) = lib.autograd.grad((w * w * w).sum(), w, create_graph=True)
    (h,) = lib.autograd.grad((g * g).sum(), w)
    return [g, h]


def second_derivative_through_a_change(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=lib.float64)
    x = w.sin()
    x.mul_(w)
    x[0].exp_()
    (g,) = lib.autograd.grad(x.sum(), w, create_graph=True)
    (h,) = lib.autograd.grad((g * g).sum(), w)
    return [g, h]


def second_derivative_through_a_saved_result(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True, dtype=lib.float64)
    (g,) = lib.autograd.grad((w.exp() * w.tanh().sqrt()).sum(), w, create_graph=True)
    (h,) = lib.autograd.grad((g * g).sum(), w)
    return [g, h]


def hooks(lib: Any) -> list[Any]:
    w, seen = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), []
    w.register_hook(lambda g: g * 2)
    y = w * 3
    y.register_hook(lambda g: seen.append(g.clone()))
    y.sum().backward()
    return [w.grad, seen[0]]


def backward_twice(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = w * 3
    y.backward(lib.ones(3), retain_graph=True)
    y.backward(lib.ones(3))
    return [w.grad]


def complex_numbers(lib: Any) -> list[Any]:
    w = lib.tensor([1.0 + 1j, 2.0, 3.0j], requires_grad=True)
    ((w * w.conj()).real.sum() + (w * w).imag.sum() + w.abs().sum()).backward()
    return [w.grad]


def a_real_leaf_in_a_complex_product(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0], requires_grad=True)
    (w * lib.tensor([1.0 + 2.0j, 3.0j])).real.sum().backward()
    return [w.grad]


def mixed_dtypes(lib: Any) -> list[Any]:
    w, v = (
        lib.tensor([1.0, 2.0], requires_grad=True),
        lib.tensor([3.0, 4.0], dtype=lib.float64, requires_grad=True),
    )
    (w * v).sum().backward()
    return [w.grad, v.grad]


def several_paths(lib: Any) -> list[Any]:
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = w * w
    (x + x * x + x.sum() * w + w).sum().backward()
    return [w.grad]


def parts_of_a_split(lib: Any) -> list[Any]:
    w = lib.arange(10.0).reshape(5, 2).requires_grad_()
    a, _, c = w.split(2)
    u = w.unbind(1)
    (a.sum() + (c * c).sum() + u[1].exp().sum()).backward()
    return [w.grad]


def chosen_by_max(lib: Any) -> list[Any]:
    w = lib.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 7.0]], requires_grad=True)
    (w.max() + w.max(1).values.sum() + w.amax(1).sum() * 2 + lib.max(w, w * 1).sum()).backward()
    return [w.grad]


def only_some_inputs(lib: Any) -> list[Any]:
    w, v = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0], requires_grad=True)
    y = w * v
    z = (y * w).sum()
    z.backward(inputs=[w], retain_graph=True)
    g = lib.autograd.grad(z, [y, v])
    return [w.grad, *g, lib.tensor(float(v.grad is None))]


PROGRAMS = [
    function for name, function in list(globals().items()) if getattr(function, "__module__", "") == __name__
]
