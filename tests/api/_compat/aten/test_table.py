"""Which operators serve PyTorch's: the table is what the schemas of both say, and calls give PyTorch's results."""

from __future__ import annotations

import pytest

import tt
from tests.api._compat.aten.make_table import lines
from tt._compat.aten.table import TABLE, names_of, parse_schema, rows
from tt._compat.aten.written import NEARLY, WRITTEN


@pytest.mark.torch
def test_the_table_is_what_the_schemas_say():
    pytest.importorskip("torch")
    assert TABLE.read_text().splitlines() == lines(), (
        "run: python -m tests.api._compat.aten.make_table --write"
    )


@pytest.mark.torch
def test_what_is_written_by_hand_has_pytorchs_schemas():
    torch = pytest.importorskip("torch")
    for text in WRITTEN:
        name, _, overload = text.partition("(")[0].partition(".")
        schema = getattr(getattr(torch.ops.aten, name), overload or "default")._schema
        assert parse_schema(str(schema)) == parse_schema(f"aten::{text}")
    for text in NEARLY:
        name, _, overload = text.partition(".")
        assert hasattr(getattr(torch.ops.aten, name), overload or "default"), text


def test_every_name_leads_to_something_with_a_schema():
    count = 0
    for name in dir(tt.ops.aten):
        packet = getattr(tt.ops.aten, name)
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            assert schema.name.startswith("aten::")
            assert (
                schema.returns
                or name in ("_assert_async",)
                or "foreach" in name
                or "fused" in name
                or "amp" in name
            )
            count += 1
    assert count > 1400


def test_operators_have_one_name_each_that_leads_back():
    for (operator, form), (name, overload) in names_of().items():
        row = rows()[name][overload]
        assert (row.operator, row.form) == (operator, form)
    assert names_of()["add", "functional"] == ("add", "Tensor")
    assert names_of()["add", "inplace"] == ("add_", "Tensor")


def test_absent_names_are_attribute_errors_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean"):
        _ = tt.ops.aten.unsqueez
    with pytest.raises(AttributeError, match=r"no overload named 'Tensr' in tt; there are: Tensor"):
        _ = tt.ops.aten.add.Tensr
    with pytest.raises(tt.errors.ArgumentError, match=r"aten\.add"):
        tt.ops.aten.add(1, "x", [])


@pytest.mark.torch
def test_calls_give_what_pytorch_gives():
    torch = pytest.importorskip("torch")
    calls = [
        (text.partition("(")[0], arguments)
        for text, arguments in CALLS.items()
    ]  # fmt: skip
    for name, make in calls:
        name, _, overload = name.partition(".")
        results = []
        for library in (tt, torch):
            arguments = make(library)
            function = getattr(getattr(library.ops.aten, name), overload or "default")
            result = function(*arguments)
            results.append(result)
        own, expected = results
        several = isinstance(expected, tuple | list) and not isinstance(expected, torch.Size)
        for one, other in zip(own if several else [own], expected if several else [expected], strict=True):
            if isinstance(other, torch.Tensor):
                assert tuple(one.shape) == tuple(other.shape), name
                assert str(one.dtype).partition(".")[2] == str(other.dtype).partition(".")[2], name
                torch.testing.assert_close(
                    torch.from_numpy(one.numpy()), other, msg=lambda m, n=name: f"{n}: {m}"
                )
            else:
                assert one == other, name


def _x(library):
    return library.arange(24.0).reshape(2, 3, 4).sin()


def _image(library):
    return library.arange(72.0).reshape(1, 2, 6, 6).cos()


def _probabilities(library):
    return library.arange(6.0).reshape(2, 3).sigmoid()


CALLS = {
    "size": lambda t: (_x(t),),
    "size.int": lambda t: (_x(t), -1),
    "stride": lambda t: (_x(t),),
    "sym_size.int": lambda t: (_x(t), 1),
    "sym_numel": lambda t: (_x(t),),
    "sym_storage_offset": lambda t: (_x(t)[1],),
    "dim": lambda t: (_x(t),),
    "is_floating_point": lambda t: (_x(t),),
    "_is_all_true": lambda t: (_x(t) > -2,),
    "to.dtype": lambda t: (_x(t), t.float64),
    "to.other": lambda t: (_x(t), t.ones(1, dtype=t.int64)),
    "lift_fresh_copy": lambda t: (_x(t),),
    "_reshape_alias": lambda t: (_x(t), [6, 4], [4, 1]),
    "_unsafe_index.Tensor": lambda t: (_x(t), [None, t.tensor([2, 0])]),
    "_softmax": lambda t: (_x(t), 1, False),
    "_log_softmax": lambda t: (_x(t), -1, False),
    "var": lambda t: (_x(t), False),
    "std": lambda t: (_x(t),),
    "var.dim": lambda t: (_x(t), [1], False, True),
    "std.dim": lambda t: (_x(t), [0, 2]),
    "var_mean.dim": lambda t: (_x(t), [2], True),
    "std_mean": lambda t: (_x(t),),
    "var.correction": lambda t: (_x(t), [1]),
    "mse_loss": lambda t: (_x(t), _x(t) * 2, 2),
    "l1_loss": lambda t: (_x(t), _x(t) * 2),
    "smooth_l1_loss": lambda t: (_x(t), _x(t) * 3, 0, 0.5),
    "huber_loss": lambda t: (_x(t), _x(t) * 3, 1, 0.5),
    "soft_margin_loss": lambda t: (_x(t), _x(t).sign(), 2),
    "binary_cross_entropy": lambda t: (_probabilities(t), t.ones(2, 3), None, 2),
    "binary_cross_entropy_with_logits": lambda t: (_x(t), t.ones(2, 3, 4), None, None, 0),
    "cross_entropy_loss": lambda t: (_probabilities(t), t.tensor([0, 2]), None, 2, -100, 0.1),
    "nll_loss": lambda t: (_probabilities(t).log(), t.tensor([0, 2]), t.tensor([1.0, 2.0, 3.0])),
    "convolution": lambda t: (
        _image(t), _image(t)[:, :, :3, :3], None, [2, 1], [1, 0], [1, 1], False, [0, 0], 1),
    "im2col": lambda t: (_image(t), [2, 2], [1, 1], [0, 1], [2, 2]),
    "col2im": lambda t: (t.arange(32.0).reshape(1, 8, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]),
    "adaptive_max_pool2d": lambda t: (_image(t), [2, 3]),
    "adaptive_avg_pool2d": lambda t: (_image(t), [2, 3]),
    "_adaptive_avg_pool2d": lambda t: (_image(t), [2, 3]),
    "avg_pool2d": lambda t: (_image(t), [2, 2]),
    "max_pool2d_with_indices": lambda t: (_image(t), [2, 2]),
    "reflection_pad2d": lambda t: (_image(t), [1, 2, 2, 1]),
    "replication_pad1d": lambda t: (_x(t), [1, 2]),
    "upsample_nearest2d.vec": lambda t: (_image(t), [9, 9], None),
    "upsample_bilinear2d.vec": lambda t: (_image(t), None, True, [2.0, 2.0]),
    "upsample_bicubic2d.vec": lambda t: (_image(t), [9, 5], False, None),
    "batch_norm": lambda t: (_image(t), None, None, t.zeros(2), t.ones(2), False, 0.1, 1e-5, True),
    "add.Scalar": lambda t: (_x(t), 2),
    "rsub.Scalar": lambda t: (_x(t), 2),
    "any.dim": lambda t: (_x(t) > 0.5, 1),
    "squeeze.dim": lambda t: (_x(t)[:1], 0),
    "randperm": lambda t: (1,),
    "tril_indices": lambda t: (3, 3),
    "arange.start_step": lambda t: (0, 5, 2),
    "expand": lambda t: (_x(t)[:1], [4, -1, -1]),
    "embedding": lambda t: (_probabilities(t), t.tensor([1, 0, 1])),
    "elu": lambda t: (_x(t), 0.5),
    "_unsafe_view": lambda t: (_x(t), [4, 6]),
    "_local_scalar_dense": lambda t: (_x(t)[0, 0, 1],),
    "sum.dim_IntList": lambda t: (_x(t), [0, 1], True),
    "slice.Tensor": lambda t: (_x(t), 2, 1, None, 2),
    "native_layer_norm": lambda t: (_x(t), [4], None, None, 1e-5),
    "topk": lambda t: (_x(t), 2),
    "where.self": lambda t: (_x(t) > 0, _x(t), -_x(t)),
    "index_put": lambda t: (_x(t), [t.tensor([1])], t.zeros(3, 4)),
    "scatter.src": lambda t: (t.zeros(2, 3), 1, t.tensor([[0, 2], [1, 0]]), t.ones(2, 2)),
    "gather": lambda t: (_probabilities(t), 1, t.tensor([[0, 2], [1, 0]])),
    "addmm": lambda t: (t.ones(2, 2), _probabilities(t), _probabilities(t).t()),
    "div.Tensor": lambda t: (_x(t), _x(t) + 2),
    "clamp": lambda t: (_x(t), -0.5, 0.5),
    "cumsum": lambda t: (_x(t), 1),
}  # fmt: skip
