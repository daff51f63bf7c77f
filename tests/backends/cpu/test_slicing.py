"""Views of parts and of whole tensors, against PyTorch: values, strides, shared memory, gradients."""

from __future__ import annotations

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

X = torch.arange(24.0).reshape(2, 3, 4)
SOURCES = {
    "contiguous": X,
    "permuted": X.permute(2, 0, 1),
    "sliced": torch.arange(48.0).reshape(2, 3, 8)[:, :, 1::2],
    "expanded": torch.arange(4.0).expand(2, 3, 4),
    "empty": torch.zeros(2, 0, 3),
    "matrix": torch.arange(12.0).reshape(3, 4).t(),
    "vector": torch.arange(8.0)[::2],
    "number": torch.tensor(3.0),
}

VIEWS = {
    "T": lambda m, x: x.T if x.ndim == 2 else x.T.T,
    "mT": lambda m, x: x.mT,
    "H": lambda m, x: x.H,
    "mH": lambda m, x: x.mH,
    "adjoint": lambda m, x: x.adjoint() if x.ndim else x,
    "movedim": lambda m, x: m.movedim(x, (0, 1), (-1, 0)),
    "movedim of one": lambda m, x: (x.movedim(0, -1), m.moveaxis(x, -1, 0)),
    "movedim twice the same": lambda m, x: m.movedim(x, (0, 0), (1, 0)),
    "swapaxes": lambda m, x: (m.swapaxes(x, 0, -1), x.swapdims(0, 1), m.swapaxes(x, axis0=0, axis1=1)),
    "view_as": lambda m, x: x.view_as(m.zeros(4, 6)),
    "reshape_as": lambda m, x: x.reshape_as(m.zeros(1, *x.shape, 1)),
    "expand_as": lambda m, x: x.expand_as(m.zeros(5, *x.shape)),
    "expand to ones": lambda m, x: x.expand(1, 1, *x.shape),
    "ravel": lambda m, x: m.ravel(x),
    "unflatten": lambda m, x: (x.unflatten(-1, (2, 2)), m.unflatten(x, 0, (-1, 2))),
    "unflatten of ones": lambda m, x: m.unflatten(x, -1, (1, -1, 1)),
    "unflatten wrongly": lambda m, x: x.unflatten(0, (5, 7)),
    "broadcast_tensors": lambda m, x: m.broadcast_tensors(x, m.zeros(3, 1, 1, 1)),
    "atleast": lambda m, x: (m.atleast_1d(x), m.atleast_2d(x), m.atleast_3d(x)),
    "atleast of two": lambda m, x: m.atleast_3d(x, m.zeros(2)),
    "meshgrid": lambda m, x: m.meshgrid(x, m.arange(3.0), m.zeros(1), indexing="ij"),
    "meshgrid, xy": lambda m, x: m.meshgrid([x, m.arange(3.0), m.zeros(())], indexing="xy"),
    "meshgrid of dtypes": lambda m, x: m.meshgrid(x, m.arange(3), indexing="ij"),
    "diagonal": lambda m, x: (x.diagonal(), m.diagonal(x, 1), m.diagonal(x, -2, -1, 0), m.linalg.diagonal(x)),
    "diagonal beyond": lambda m, x: (m.diagonal(x, 9), m.diagonal(x, -9)),
    "diagonal of one dimension": lambda m, x: x.diagonal(0, 1, 1),
    "unfold": lambda m, x: (x.unfold(0, 1, 2), x.unfold(-1, 2, 1), x.unfold(-1, 3, 2)),
    "unfold of nothing": lambda m, x: x.unfold(0, 0, 1),
    "unfold too far": lambda m, x: x.unfold(0, 9, 1),
    "narrow from a tensor": lambda m, x: x.narrow(-1, m.tensor(1), 2),
    "narrow from a float": lambda m, x: x.narrow(-1, m.tensor(1.0), 2),
    "split_with_sizes": lambda m, x: m.split_with_sizes(x, (1, x.numel() // 6 - 1), -1),
    "split by keywords": lambda m, x: m.split(x, split_size_or_sections=2, dim=-1),
    "chunk": lambda m, x: (*x.chunk(2), *m.chunk(x, 3, dim=-1)),
    "tensor_split": lambda m, x: (*x.tensor_split(2), *x.tensor_split((1, 3), -1), ),
    "tensor_split by a tensor": lambda m, x: x.tensor_split(m.tensor([1], device="cpu")),
    "tensor_split by a number": lambda m, x: m.tensor_split(x, m.tensor(2, device="cpu")),
    "tensor_split into none": lambda m, x: m.tensor_split(x, 0),
    "hsplit": lambda m, x: (*m.hsplit(x, 1), *x.hsplit((1,))),
    "vsplit": lambda m, x: (*m.vsplit(x, 2), *x.vsplit((1, 2))),
    "dsplit": lambda m, x: (*m.dsplit(x, 2), *x.dsplit((1, 1))),
    "dsplit by varargs": lambda m, x: x.dsplit(1, 2),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", VIEWS)
def test_views(same, name, source):
    if not getattr(same, "strided", True) and source != "contiguous":
        pytest.skip("on the device the tensor is contiguous, and so can be viewed where PyTorch's cannot")
    same(VIEWS[name], SOURCES[source].clone() if source == "expanded" else SOURCES[source], strides=True)


@pytest.mark.parametrize("source", ["contiguous", "matrix"])
@pytest.mark.parametrize(
    "name", [n for n in VIEWS if "expand" not in n and "broadcast" not in n and "mesh" not in n]
)
def test_writing_to_a_view_writes_to_its_base(same, name, source):
    if name in ("ravel", "reshape_as", "unfold") or (source == "matrix" and name == "view_as"):
        return  # a copy sometimes; elements coincide

    def write(m, x):
        found = VIEWS[name](m, x)
        for view in found if isinstance(found, list | tuple) else [found]:
            view.mul_(2)
        return x

    same(write, SOURCES[source].clone())


def test_a_view_of_the_same_shape_is_the_tensor_itself():
    x = tt.zeros(2, 3, 4)
    assert tt.atleast_1d(x) is x and tt.atleast_3d(x) is x
    assert x.flatten(0, 0) is x and x.contiguous() is x
    assert x.ravel().data_ptr() == x.data_ptr()


def test_transposing_in_place_changes_the_strides_only(same):
    def program(m, x):
        base = x[:]
        x.t_().unsqueeze_(0).swapaxes_(0, 1).transpose_(1, 2).squeeze_()
        x.add_(1)
        return x, base, x.stride(), x.storage_offset()

    same(program, torch.arange(12.0).reshape(3, 4), strides=True)
    same(lambda m, x: x.as_strided_((2, 2), (1, 2), 3).swapdims_(0, 1), torch.arange(12.0), strides=True)
    same(lambda m, x: (x.squeeze_(0).detach_(), x.squeeze_((0, 1))), torch.zeros(1, 1, 3), strides=True)


def test_attributes_take_part_in_differentiation(same):
    def gradients(m, x):
        leaf = x.clone().requires_grad_()
        weights = m.arange(6.0).reshape(3, 2)
        (leaf.H * weights + leaf.T * weights + leaf.mT + leaf.mH).abs().sum().backward()
        return leaf.grad

    same(gradients, torch.tensor([[1 + 2j, 2 - 1j, 3j], [1, -1j, 2 + 2j]]))


CHANGES = {
    "diagonal": lambda x: x.diagonal(1).mul_(3),
    "unfold": lambda x: x.unfold(0, 1, 2).mul_(3),
    "movedim": lambda x: x.movedim(0, 1)[0].mul_(3),
    "T": lambda x: x.T[1:].mul_(3),
    "unflatten": lambda x: x.unflatten(1, (2, 2))[:, 1].mul_(3),
    "chunk of a select": lambda x: x[1].tensor_split(2)[0].mul_(3),
    "narrow": lambda x: x.narrow(1, 1, 2).mul_(3),
    "diagonal of a diagonal": lambda x: x.unflatten(1, (2, 2)).diagonal(0, 1, 2).diagonal().mul_(3),
    "view_as": lambda x: x.view_as(x[:].reshape(4, 3))[0].mul_(3),
    "expand to ones": lambda x: x.expand(1, *x.shape)[0, 1].mul_(3),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_through_a_view_enters_the_history_of_its_base(same, name):
    def program(m, x):
        leaf = x.clone().requires_grad_()
        y = leaf * 2
        CHANGES[name](y)
        (y * y).sum().backward()
        return y.detach(), leaf.grad

    same(program, torch.arange(12.0).reshape(3, 4) - 3)


def test_the_pieces_of_a_chunk_are_not_changed_in_place_where_they_have_a_history(same):
    def program(m, x):
        first, _ = (x.clone().requires_grad_() * 2).chunk(2)
        return first.mul_(2)

    same(program, torch.arange(4.0))


def test_overlapping_windows_add_up_their_gradients(same):
    def program(m, x):
        leaf = x.clone().requires_grad_()
        weights = m.arange(24.0).reshape(2, 3, 4)
        (leaf.unfold(1, 4, 1) * weights).sum().backward()
        return leaf.grad

    same(program, torch.arange(12.0).reshape(2, 6))


def test_errors_say_what_was_asked_and_what_was_found():
    x = tt.zeros(2, 3)
    for call, words in (
        (lambda: x.unfold(1, 4, 1), "a window of 4 does not fit in dimension 1, whose size is 3"),
        (
            lambda: tt.hsplit(x, 2),
            "dimension 1 has size 3, which 2 pieces cannot share",
        ),
        (lambda: x.unflatten(1, (2, 2)), r"product of the sizes \[2, 2\] is not 3"),
        (lambda: tt.zeros(3).H, "H is for matrices, and the tensor has 1 dimensions"),
        (lambda: tt.zeros(2, 2, 2).H, "try: .mH"),
        (lambda: tt.tensor_split(x, tt.tensor([1.0])), "must have dtype int64, not tt.float32"),
        (lambda: tt.movedim(x, (0, 1), (0,)), "cannot go to 1 places"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
