"""Jagged tensors: their members, copies and parts, layers, gradients, and refusals."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys

import pytest

import tt
import tt.nn.functional as F
from tests.plugins.nested.batches import assert_same, batch_of, rows_of, with_gaps


@pytest.fixture
def rows():
    return rows_of()


@pytest.fixture
def x(rows):
    return batch_of(rows)


# --- members ---------------------------------------------------------------------------------------------------------


def test_properties(x):
    assert (x.is_nested, x.layout, x.dim(), len(x), x.numel()) == (True, tt.jagged, 3, 3, 21)
    assert (x.offsets().tolist(), x.lengths(), x.is_contiguous()) == ([0, 2, 6, 7], None, True)
    assert not tt.ones(2).is_nested


def test_the_ragged_size_is_the_longest_row_and_equals_its_like_only(x):
    size = x.size(1)
    assert (repr(size), int(size), size == 4, size == (x * 2).size(1)) == ("j(2, 4, 1)", 4, False, True)
    assert x.shape == (x + 1).shape and x.shape != tt.nested.as_nested_tensor([tt.ones(2, 3)] * 3).shape
    assert tuple(tt.zeros(x.shape).shape) == (3, 4, 3)
    assert pickle.loads(pickle.dumps(x.shape)) == x.shape
    assert f"{size} {size:d}" == "j(2, 4, 1) 4"
    many = tt.nested.nested_tensor([[1]] * 9)
    assert repr(many.size(1)) == "j(1, 1, 1, ..., 1, 1, 1)"


def test_repr_shows_values_and_offsets():
    x = tt.nested.nested_tensor([[1.0], [2.0, 3.0]], requires_grad=True)
    assert repr(x) == (
        "tensor(values=tensor([1., 2., 3.]), size=(2, j(1, 2)), offsets=[0, 1, 3],\n"
        "       layout=tt.jagged, requires_grad=True)"
    )
    gaps, _ = with_gaps()
    assert "offsets=[1, 5, 12, 13], lengths=[2, 4, 1]" in repr(gaps).replace("\n      ", "")
    assert "offsets=[0, 1, 2, ..., 18, 19, 20]" in repr(tt.nested.nested_tensor([[1]] * 20)).replace(
        "\n      ", ""
    )


# --- copies ----------------------------------------------------------------------------------------------------------


def through_file(x):
    file = io.BytesIO()
    tt.save(x, file)
    file.seek(0)
    return tt.load(file)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, through_file, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("kind", ["plain", "gaps", "turned"])
def test_copies_keep_rows_and_gradients(copied, kind, x):
    original = (
        {"plain": x, "gaps": with_gaps()[0], "turned": x.transpose(1, 2)}[kind].detach().requires_grad_()
    )
    new = copied(original)
    assert new.is_nested and new.requires_grad and new.shape == original.shape
    assert tt.equal(new, original)
    assert (new.lengths() is None) == (original.lengths() is None)


def test_a_file_with_wrong_offsets_is_refused():
    from tt.serialization.rebuilding import Rebuilder

    rebuild = Rebuilder("x.pt", lambda s: s, lambda s, where: s).jagged
    with pytest.raises(ValueError, match="outside of the values"):
        rebuild({"values": tt.ones(3), "offsets": tt.tensor([0, 9])})
    for parts in (
        None,
        {"values": 3, "offsets": tt.tensor([0])},
        {"values": tt.ones(1), "offsets": tt.ones(1).to_sparse()},
    ):
        with pytest.raises(tt.errors.CorruptFileError, match="nested tensor"):
            rebuild(parts)


def test_changes_in_place(x, rows):
    y = x.clone()
    assert y.add_(1) is y and y.mul_(tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64)) is y
    y -= x
    assert_same(y, [(row + 1) * tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64) - row for row in rows])
    y.copy_(x)
    assert tt.equal(y, x)
    assert y.fill_(2).values().tolist() == [[2.0] * 3] * 7
    assert y.zero_().sum() == 0
    assert 0 < y.uniform_(0.5, 1.0).mean() < 1
    y.exp_()
    out = tt.empty_like(x)
    assert tt.add(x, 1, out=out) is out and tt.equal(out, x + 1)
    gaps, _ = with_gaps()
    gaps.copy_(x)
    assert_same(gaps, rows)
    gaps.relu_()


def test_factories_like_it(x):
    tt.manual_seed(0)
    for made in (tt.zeros_like(x), tt.ones_like(x), tt.full_like(x, 2), tt.rand_like(x), tt.randn_like(x)):
        assert made.shape == x.shape and made.dtype is x.dtype
    assert tt.zeros_like(x, dtype=tt.int8).dtype is tt.int8
    assert tuple(x.new_zeros(2, 3).shape) == (2, 3)
    assert tt.zeros_like(x, layout=tt.strided).shape == (3, 4, 3)


def test_other_dtypes_and_devices(x):
    assert x.half().dtype is tt.float16
    assert x.to(tt.int64).values().dtype is tt.int64
    assert x.to("meta").sum(1).shape == (3, 3)
    assert (x.to("meta") * 2).shape == x.shape
    assert (x.double() is x, x.type_as(tt.ones(1)).dtype) == (True, tt.float32)
    with tt.fake_mode():
        assert (tt.nested.nested_tensor([tt.zeros(2, 3), tt.zeros(4, 3)]) + 1).mean(1).shape == (2, 3)


# --- padding, rows ---------------------------------------------------------------------------------------------------


def test_padding(x, rows):
    dense = x.to_padded_tensor(-1.0)
    assert tuple(dense.shape) == (3, 4, 3)
    for row, part in zip(rows, dense, strict=True):
        assert tt.equal(part[: len(row)], row) and bool((part[len(row) :] == -1).all())
    assert tuple(tt.nested.to_padded_tensor(x, 0.0, (3, 6, 4)).shape) == (3, 6, 4)
    turned = x.transpose(1, 2).to_padded_tensor(-1.0)
    assert tt.equal(turned, dense.transpose(1, 2))
    with pytest.raises(tt.errors.ShapeError, match=r"none smaller than \[3, 4, 3\]"):
        x.to_padded_tensor(0.0, (3, 2, 3))
    leaf = x.detach().requires_grad_()
    leaf.to_padded_tensor(5.0).sum().backward()
    assert tt.equal(leaf.grad, tt.ones_like(x))


def test_rows_are_chosen(x, rows):
    assert tt.equal(x[1], rows[1]) and tt.equal(x[-1, 0], rows[2][0])
    assert_same(x[1:], rows[1:])
    assert_same(x[::2], rows[::2])
    assert_same(x[tt.tensor([2, 0, 0])], [rows[2], rows[0], rows[0]])
    assert_same(x[tt.tensor([True, False, True])], [rows[0], rows[2]])
    assert tt.equal(x[x > 1], tt.cat([row[row > 1] for row in rows]))
    assert_same(tt.cat([x, x * 2]), [*rows, *(row * 2 for row in rows)])
    assert_same(x.split(2)[0], rows[:2])
    assert_same(x.split([1, 2])[1], rows[1:])
    assert_same(x.chunk(3)[2], rows[2:])
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        x[3]
    with pytest.raises(IndexError, match="there are 3 rows"):
        x.index_select(0, tt.tensor([3]))


def test_rows_may_be_empty():
    x = tt.nested.nested_tensor([tt.ones(0, 2), tt.ones(3, 2)])
    assert x.sum(1).tolist() == [[0.0, 0.0], [3.0, 3.0]]
    assert x.softmax(1)[0].shape == (0, 2)
    assert x.to_padded_tensor(7.0)[0].tolist() == [[7.0, 7.0]] * 3


def test_sizes_of_views(x):
    for size in (
        (3, -1, 3, 1),
        (3, x.size(1), 3, 1),
        (3, x.size(1), -1, 1),
        (-1, x.size(1), 3, 1),
        (3, 4, 3, 1),
    ):
        assert repr(x.view(size).shape) == "tt.Size([3, j(2, 4, 1), 3, 1])"
    with pytest.raises(tt.errors.ShapeError, match="the ragged dimension"):
        x.view(3, 7, 3)


def test_changes_in_place_of_what_is_no_leaf_are_differentiated():
    for change in (lambda x, y: x.mul_(y), lambda x, y: x.sin_(), lambda x, y: x.add_(y).exp_()):
        grads = []
        for nested in (True, False):
            one, two = ([row.requires_grad_() for row in rows_of(seed=k)] for k in range(2))
            if nested:
                x = batch_of(one) * 1
                change(x, batch_of(two))
                x.values().square().sum().backward()
            else:
                sum(change(a * 1, b).square().sum() for a, b in zip(one, two, strict=True)).backward()
            grads.append([row.grad for row in one + two])
        for a, b in zip(*grads, strict=True):
            assert (a is None or not a.any()) if b is None else tt.allclose(a, b)


# --- attention, layers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.2}])
def test_attention_is_that_of_each_row(options):
    query, keys = rows_of((2, 4)), rows_of((2, 4), sizes=(3, 1, 5), seed=1)
    parts = [tt.nested.as_nested_tensor(r).transpose(1, 2) for r in (query, keys, [k * 2 for k in keys])]
    found = F.scaled_dot_product_attention(*parts, **options)
    expected = [
        F.scaled_dot_product_attention(*(t.transpose(0, 1).unsqueeze(0) for t in (q, k, k * 2)), **options)[0]
        for q, k in zip(query, keys, strict=True)
    ]
    assert_same(found, expected)


def test_attention_refuses_masks_as_pytorch_does():
    x = batch_of(rows_of((2, 3))).transpose(1, 2)
    for mask in (tt.zeros(4, 4, dtype=tt.bool), tt.zeros(3, 1, 4, 4, dtype=tt.float64), x):
        with pytest.raises(ValueError, match="attn_mask is not possible for rows of different lengths"):
            F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def test_attention_of_rows_of_one_length_is_that_of_a_dense_batch():
    dense = tt.randn(3, 5, 2, 4, dtype=tt.float64).requires_grad_()
    jagged = tt.nested.as_nested_tensor(dense).transpose(1, 2)
    found = F.scaled_dot_product_attention(jagged, jagged, jagged)
    wanted = F.scaled_dot_product_attention(*(dense.transpose(1, 2),) * 3)
    tt.testing.assert_close(found.to_padded_tensor(0.0), wanted)
    (one,) = tt.autograd.grad((found * found).sum(), dense)
    (other,) = tt.autograd.grad((wanted * wanted).sum(), dense)
    tt.testing.assert_close(one, other)


def test_layers_run_on_rows_and_learn():
    tt.manual_seed(0)
    model = tt.nn.Sequential(
        tt.nn.Embedding(10, 4), tt.nn.LayerNorm(4), tt.nn.Linear(4, 8), tt.nn.GELU(), tt.nn.Dropout(0.1),
        tt.nn.Linear(8, 2), tt.nn.Softmax(dim=-1),
    )  # fmt: skip
    x = tt.nested.nested_tensor([[1, 2, 3], [4]])
    model.eval()
    assert_same(model(x), [model(row) for row in x.unbind()])
    model.train()
    model(x).mean(1).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_dropout_scales_what_it_keeps(x):
    tt.manual_seed(0)
    kept = F.dropout(tt.ones_like(x), 0.5).values()
    assert set(kept.reshape(-1).tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    "loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.binary_cross_entropy]
)
def test_losses_are_means_of_all_elements(loss, rows):
    near, far = [r / 4 for r in rows], [r / 3 for r in rows]
    wanted = loss(tt.cat(near), tt.cat(far))
    tt.testing.assert_close(loss(batch_of(near), batch_of(far)), wanted)
    assert loss(batch_of(near), batch_of(far), reduction="none").is_nested


# --- broadcasting, gradients -----------------------------------------------------------------------------------------

OPERANDS = {
    "number": ((), lambda d, k, n: d),
    "row vector": ((3,), lambda d, k, n: d),
    "one per row": ((3, 1, 3), lambda d, k, n: d[k]),
    "one for all": ((1, 1, 3), lambda d, k, n: d[0]),
    "without a batch": ((1, 3), lambda d, k, n: d),
    "as long as the longest": ((3, 4, 3), lambda d, k, n: d[k, :n]),
    "as long, without a batch": ((4, 3), lambda d, k, n: d[:n]),
    "as long, for all": ((1, 4, 1), lambda d, k, n: d[0, :n]),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_dense_operands_broadcast_with_gradients(name, rows):
    shape, part = OPERANDS[name]
    results = []
    for jagged in (True, False):
        dense = tt.rand(shape, dtype=tt.float64, generator=tt.Generator().manual_seed(3)).requires_grad_()
        leaves = [row.clone().requires_grad_() for row in rows]
        if jagged:
            found = (batch_of(leaves) * dense + dense).unbind()
        else:
            found = [r * part(dense, k, len(r)) + part(dense, k, len(r)) for k, r in enumerate(leaves)]
        sum((f * f).sum() for f in found).backward()
        results.append([*found, dense.grad, *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        tt.testing.assert_close(one, other)


def test_gaps_and_packed_rows_go_together():
    gaps, rows = with_gaps()
    packed = batch_of([row * 2 for row in rows])
    assert_same(gaps + packed, [row * 3 for row in rows])
    assert_same(packed - gaps, [row.clone() for row in rows])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: x + tt.nested.as_nested_tensor([tt.ones(3, 3)] * 3), "their rows differ in length"),
        (lambda x: x + x.transpose(1, 2), "their ragged dimensions are not the same"),
        (lambda x: x + tt.ones(3, 5, 3), "that of the longest row, 4"),
        (lambda x: x + tt.ones(2, 1, 3), "it has 2 rows, not 3"),
        (lambda x: x + tt.ones(1, 3, 1, 3), "does not broadcast to a jagged one of 3"),
        (lambda x: x.sum(0), "only together with the ragged one, 1"),
        (lambda x: x.softmax(0), "rows do not have the dimension"),
        (lambda x: x.transpose(0, 1), "stays the first one"),
        (lambda x: x.unsqueeze(0), "stays the first one"),
        (lambda x: x.squeeze(), "must be named"),
        (lambda x: x.flatten(), "only dense dimensions"),
        (lambda x: x[:, :1], "each row has a size of its own"),
        (lambda x: x.chunk(2, 1), "each row has a size of its own"),
        (lambda x: tt.cat([x, x], 1), "each row has a size of its own"),
        (lambda x: tt.cat([x, tt.ones(3, 4, 3)], -1), "all tensors must be jagged"),
        (lambda x: tt.stack([x, x]), "stays the first one"),
        (lambda x: x @ x.transpose(1, 2), "two ragged dimensions"),
        (lambda x: x.transpose(1, 2) @ tt.ones(4, 2, dtype=x.dtype), "summed over"),
        (lambda x: F.linear(x.transpose(1, 2), tt.ones(2, 4, dtype=x.dtype)), "the last dimension must be dense"),
        (lambda x: F.layer_norm(x, (4, 3)), "the normalised dimensions must be dense"),
        (lambda x: F.scaled_dot_product_attention(x, x, tt.ones(3, 4, 3)), "value must be jagged"),
        (lambda x: x.cov(), "to_padded_tensor"),
        (lambda x: tt.fft.fft(x), "to_padded_tensor"),
        (lambda x: x.T, "to_padded_tensor"),
        (lambda x: x * tt.eye(3).to_sparse(), "has no kernel for jagged"),
        (lambda x: x.numpy(), "to_padded_tensor"),
        (lambda x: x.tolist(), "to_padded_tensor"),
        (lambda x: x.stride(), "to_padded_tensor"),
        (lambda x: x.__setitem__(0, 1), "to_padded_tensor"),
        (lambda x: tt.equal(x, tt.ones(3, 4, 3, dtype=tt.float64)), "both tensors must be jagged"),
    ],
)  # fmt: skip
def test_what_rows_do_not_have_is_refused_with_a_way_out(call, match, x):
    with pytest.raises((tt.errors.TTError, TypeError), match=match):
        call(x)


def test_gradients_accumulate_and_are_jagged(x):
    leaf = x.detach().requires_grad_()
    for _ in range(2):
        (leaf * leaf).sum().backward()
    assert tt.equal(leaf.grad, x * 4)
    leaf.grad.zero_()
    seen = []
    leaf.register_hook(seen.append)
    y = leaf**3
    y.backward(tt.ones_like(y))
    tt.testing.assert_close(leaf.grad.values(), (x * x * 3).values())
    assert seen[0].is_nested


def test_second_derivatives(x):
    leaf = x.detach().requires_grad_()
    (first,) = tt.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
    (second,) = tt.autograd.grad(first.sum(), leaf)
    tt.testing.assert_close(second.values(), (x * 6).values())
    gradient = tt.func.grad(lambda t: (t * t).sum())(x)
    tt.testing.assert_close(gradient.values(), (x * 2).values())


def test_it_works_under_no_grad_and_in_inference(x):
    leaf = x.detach().requires_grad_()
    with tt.no_grad():
        assert not (leaf * 2).sum(1).requires_grad
    with tt.inference_mode():
        assert (leaf * 2).softmax(1).is_nested


# --- tools -----------------------------------------------------------------------------------------------------------


def test_gradcheck_takes_jagged_inputs_and_parts():
    x = tt.nested.nested_tensor(rows_of((2,)), requires_grad=True)
    assert tt.autograd.gradcheck(lambda t: (t * t).sum(1), (x,))
    rows = [row.clone().requires_grad_() for row in rows_of((2,))]
    for check in (tt.autograd.gradcheck, tt.autograd.gradgradcheck):
        assert check(lambda *r: tt.nested.as_nested_tensor(list(r)).softmax(1).values(), rows)


def test_forward_mode_is_refused_and_reverse_mode_is_not(x):
    with pytest.raises(NotImplementedError, match=r"no tangents of tensors of layout tt\.jagged"):
        tt.func.jvp(lambda t: (t * t).sum(), (x,), (x,))
    _, pull = tt.func.vjp(lambda t: t.sum(1), x)
    assert tt.equal(pull(tt.ones(3, 3, dtype=tt.float64))[0], tt.ones_like(x))


def test_assert_close_compares_rows(x):
    tt.testing.assert_close(x, x.clone())
    gaps, rows = with_gaps()
    tt.testing.assert_close(gaps, batch_of(rows))
    with pytest.raises(AssertionError, match="not close"):
        tt.testing.assert_close(x, x + 1)
    with pytest.raises(AssertionError, match="shapes differ"):
        tt.testing.assert_close(x, tt.nested.as_nested_tensor([tt.ones(3, 3, dtype=tt.float64)] * 3))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: tt.ops.nested.jagged(tt.ones(3), [0, 9]), ValueError, "outside of the values"),
        (
            lambda x: tt.ops.nested.jagged(tt.ones(3), [0, 3], None, 5),
            ValueError,
            "jagged_dim must be from 1 to 1",
        ),
        (lambda x: tt.ops.nested.with_values(x, tt.ones(2, 3)), tt.errors.ShapeError, "the 7 places"),
        (lambda x: tt.ops.nested.with_values(x, tt.ones(7), 3), tt.errors.ShapeError, "dimension 2"),
        (lambda x: tt.ops.nested.values(tt.ones(2)), tt.errors.NoKernelError, "strided"),
    ],
)
def test_its_own_operators_check_their_arguments(call, error, match, x):
    with pytest.raises(error, match=match):
        call(x)


def test_the_first_call_of_a_process_may_be_any():
    code = "import tt; print(tt.nested.nested_tensor([[1], [2, 3]]).to(tt.int32).sum(1).tolist(), tt.jagged)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1, 5] tt.jagged\n"


def test_a_dtype_that_no_layout_serves_has_its_own_hint(x):
    with pytest.raises(
        tt.errors.DtypeNotServedError, match=r"for float64 on jagged/cpu[\s\S]*try: convert the arguments"
    ):
        x & x
