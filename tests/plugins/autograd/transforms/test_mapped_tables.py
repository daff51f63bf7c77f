"""Arguments of `vmap` that hide the dim that is mapped over themselves, as a TensorDict does."""

from __future__ import annotations

import pytest

import tt
from tt._compat.torch._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from tt.utils._pytree import register_pytree_node


class Table:
    """Columns that share their first dims, as those of a TensorDict."""

    def __init__(self, columns, batch_size):
        self.columns, self.batch_size = columns, tt.Size(batch_size)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        size = [n for i, n in enumerate(self.batch_size) if i != in_dim]
        return Table({k: _add_batch_dim(v, in_dim, vmap_level) for k, v in self.columns.items()}, size)

    def _remove_batch_dim(self, vmap_level, batch_size, out_dim):
        size = list(self.batch_size)
        size.insert(out_dim, batch_size)
        columns = {k: _remove_batch_dim(v, vmap_level, batch_size, out_dim) for k, v in self.columns.items()}
        return Table(columns, size)

    def __getitem__(self, index):
        columns = {k: v[index] for k, v in self.columns.items()}
        return Table(columns, next(iter(columns.values())).shape[: len(self.batch_size)])

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is not tt.cat:
            return NotImplemented
        parts, dim = args
        columns = {k: tt.cat([p.columns[k] for p in parts], dim) for k in parts[0].columns}
        return Table(columns, next(iter(columns.values())).shape[: len(parts[0].batch_size)])


# As tensordict does: the columns would be mapped over one by one, and the size would stay that of one example.
register_pytree_node(
    Table,
    lambda table: (list(table.columns.values()), (list(table.columns), table.batch_size)),
    lambda values, context: Table(dict(zip(context[0], values, strict=True)), context[1]),
)


@pytest.fixture
def table():
    return Table({"a": tt.arange(6.0).reshape(3, 2), "b": tt.ones(3)}, [3])


def doubled(table):
    assert all(is_batchedtensor(column) for column in table.columns.values())
    return Table({name: column * 2 for name, column in table.columns.items()}, table.batch_size)


def test_the_table_hides_its_dim_and_shows_it_again(table):
    result = tt.vmap(doubled)(table)
    assert result.batch_size == (3,)
    assert result.columns["a"].tolist() == [[0, 2], [4, 6], [8, 10]]


def test_tables_stand_beside_tensors_in_arguments_and_results(table):
    def call(table, factor, other=None):
        assert table.batch_size == other.batch_size == ()
        return {"sum": table.columns["a"].sum() * factor, "table": table}

    results = tt.vmap(call, in_dims=(0, None))(table, tt.tensor(2.0), other=table)
    assert results["sum"].tolist() == [2, 10, 18]
    assert results["table"].columns["a"].tolist() == table.columns["a"].tolist()


@pytest.mark.parametrize(("in_dim", "out_dim"), [(0, 1), (1, 0), (-1, 1)])
def test_dims_in_and_out_are_those_of_the_batch(in_dim, out_dim):
    x = tt.arange(24.0).reshape(2, 3, 4)
    result = tt.vmap(doubled, in_dims=in_dim, out_dims=out_dim)(Table({"x": x}, [2, 3]))
    expected = (x * 2).movedim(in_dim % 2, out_dim)
    assert result.batch_size == expected.shape[:2]
    assert tt.equal(result.columns["x"], expected)


def test_levels_nest(table):
    outer = Table({k: tt.stack([v, v + 1]) for k, v in table.columns.items()}, [2, 3])
    scaled = lambda t, y: Table({"a": t.columns["a"] * y}, t.batch_size)  # noqa: E731
    result = tt.vmap(tt.vmap(scaled, in_dims=(0, None)))(outer, tt.tensor([1.0, 10.0]))
    assert result.batch_size == (2, 3)
    assert tt.equal(result.columns["a"], outer.columns["a"] * tt.tensor([1.0, 10.0]).reshape(2, 1, 1))


def test_chunks_of_a_table(table):
    assert tt.equal(tt.vmap(doubled, chunk_size=2)(table).columns["a"], table.columns["a"] * 2)


def test_gradients_of_a_table_by_example(table):
    loss = lambda t, x: (t.columns["a"] * x).sum() ** 2  # noqa: E731
    x = tt.tensor([1.0, 2.0])
    result = tt.vmap(tt.func.grad(loss), in_dims=(0, None))(table, x)
    a = table.columns["a"]
    assert tt.equal(result.columns["a"], 2 * (a * x).sum(1, keepdim=True) * x)


def test_sizes_and_dims_that_do_not_fit_are_refused(table):
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        tt.vmap(lambda t, x: x)(table, tt.ones(4))
    with pytest.raises(ValueError, match="of 1 dimensions"):
        tt.vmap(doubled, in_dims=1)(table)
