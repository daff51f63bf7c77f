"""Random numbers of divided parameters: the rows of what one process draws with the same seed."""

from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from tt.distributed.fsdp import fully_shard
from tt.distributed.fsdp.sharded_parameter import whole

FILLS = {
    "normal": lambda p, g: p.normal_(1, 2, generator=g),
    "uniform": lambda p, g: p.data.uniform_(-1, 1, generator=g),
    "exponential": lambda p, g: p.exponential_(generator=g),
    "cauchy": lambda p, g: p.detach().cauchy_(generator=g),
    "geometric": lambda p, g: p.geometric_(0.3, generator=g),
    "log_normal": lambda p, g: p.log_normal_(generator=g),
    "random": lambda p, g: p.random_(10, generator=g),
    "bernoulli": lambda p, g: p.bernoulli_(0.3, generator=g),
    "bernoulli of probabilities": lambda p, g: tt.bernoulli(p * 0 + 0.4, generator=g),
    "bernoulli in place": lambda p, g: p.bernoulli_(p * 0 + 0.4, generator=g),
    "normal around": lambda p, g: tt.normal(p, p.abs(), generator=g),
    "randn_like": lambda p, g: tt.randn_like(p, dtype=tt.float64, generator=g),
    "rand_like": lambda p, g: tt.rand_like(p, generator=g),
    "randint_like": lambda p, g: tt.randint_like(p, 3, 7, generator=g),
    "init.trunc_normal_": lambda p, g: nn.init.trunc_normal_(p, std=0.5, generator=g),
    "init.xavier_uniform_": lambda p, g: nn.init.xavier_uniform_(p, generator=g),
    "init.xavier_normal_": lambda p, g: nn.init.xavier_normal_(p, generator=g),
    "init.kaiming_uniform_": lambda p, g: nn.init.kaiming_uniform_(p, mode="fan_out", generator=g),
    "init.kaiming_normal_": lambda p, g: nn.init.kaiming_normal_(p, generator=g),
    "init.orthogonal_": lambda p, g: nn.init.orthogonal_(p, gain=2, generator=g),
    "init.eye_": lambda p, g: nn.init.eye_(p),
    "one row": lambda p, g: p.data.__setitem__(-1, 7) or p,
    "an element of a row": lambda p, g: p.data.__setitem__((0, slice(1, 2)), tt.ones(1)) or p,
    "some rows": lambda p, g: p.data.__setitem__(slice(1, 3), 5) or p,
}


def filled(rows, columns, dtype, sharded):
    """Return a parameter after each of the fills, whole, and how far the generator has come."""
    layer = nn.Linear(columns, rows, bias=False, dtype=dtype)
    with tt.no_grad():
        layer.weight.copy_(tt.arange(rows * columns).reshape(rows, columns).sin())
    if sharded:
        fully_shard(layer)
    p, generator, results = layer.weight, tt.Generator().manual_seed(2**63 + 7), {}
    with tt.no_grad():
        for name, fill in FILLS.items():
            if name == "init.orthogonal_" and dtype.itemsize < 4:  # LAPACK has no halves
                continue
            result = fill(p, generator)
            if sharded:
                result = whole(result.to_local() if hasattr(result, "to_local") else result, p.placement)
            results[name] = result.clone()
    return results, generator.get_offset()


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64, tt.bfloat16])
@pytest.mark.parametrize(("rows", "columns", "size"), [(4, 4, 2), (5, 3, 3), (1, 5, 2)])
def test_ranks_have_the_rows_that_one_process_draws(engine, rows, columns, size, dtype):
    expected, offset = filled(rows, columns, dtype, False)
    for results, end in run(lambda: filled(rows, columns, dtype, True), size, backend=engine):
        assert end == offset
        for name, one in expected.items():
            assert tt.equal(results[name], one), name


def test_ranks_with_generators_of_other_seeds_take_the_first_ones_numbers_and_draw_none_twice(engine):
    def draw():
        layer = fully_shard(nn.Linear(2, 6, bias=False))
        generator = tt.Generator().manual_seed(dist.get_rank())
        with tt.no_grad():
            nn.init.normal_(layer.weight, generator=generator)
        return layer.weight.full_tensor().detach(), generator.get_offset(), generator.initial_seed()

    expected = tt.empty(6, 2).normal_(generator=tt.Generator().manual_seed(0))
    for rank, (result, offset, seed) in enumerate(run(draw, 3, backend=engine)):
        assert tt.equal(result, expected)
        assert (offset, seed) == (3, rank)


def test_replicas_of_a_mesh_draw_the_same_rows(engine):
    def draw():
        mesh = dist.init_device_mesh("cpu", (2, 2))
        layer = fully_shard(nn.Linear(3, 3), mesh=mesh)
        generator = tt.Generator().manual_seed(10 + dist.get_rank())
        with tt.no_grad():
            layer.weight.uniform_(generator=generator)
        return layer.weight.full_tensor()

    expected = tt.empty(3, 3).uniform_(generator=tt.Generator().manual_seed(10))
    assert all(tt.equal(result, expected) for result in run(draw, 4, backend=engine))


def test_a_leaf_that_requires_gradients_is_drawn_only_without_them(engine):
    def draw():
        layer = fully_shard(nn.Linear(2, 2))
        with pytest.raises(RuntimeError, match="a leaf that requires a gradient"):
            layer.weight.normal_()
        return True

    assert run(draw, 2, backend=engine) == [True, True]


def test_drawing_needs_to_know_which_rows_a_rank_has(engine):
    def draw():
        part = fully_shard(nn.Linear(3, 4)).weight.detach()
        for name, call in {
            "uniform_": lambda: part.view(-1).uniform_(),
            "randn_like": lambda: tt.randn_like(part.T),
            "bernoulli": lambda: tt.bernoulli((part * 0).view(-1)),
            "fan in and fan out": lambda: nn.init.kaiming_normal_(part.t()),
        }.items():
            with pytest.raises(NotImplementedError, match=f"^{name}.*divided among ranks"):
                call()
        return True

    assert run(draw, 2, backend=engine) == [True, True]


# --- models that are made without memory ---------------------------------------------------------------------------


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4, padding_idx=3)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(4, 2, 7, batch_first=True), nn.LSTM(4, 3)])
        self.convolution = nn.Conv1d(3, 2, 1)
        self.head = nn.Bilinear(2, 2, 3)

    def forward(self, x):
        y = self.blocks[1](self.blocks[0](self.embedding(x)))[0]
        y = self.convolution(y.transpose(1, 2)).transpose(1, 2)
        return self.head(y, y)


def initialised(model):
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
        elif hasattr(module, "_reset_parameters"):
            module._reset_parameters()
        for parameter in module.parameters(recurse=False):
            if parameter.ndim == 1:
                nn.init.uniform_(parameter)


def train(model, optimizer, x):
    for _ in range(2):
        optimizer.zero_grad()
        model.eval()(x).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("early", [False, True])
def test_a_model_made_on_meta_is_sharded_gets_memory_and_is_initialised_as_one_process_does(engine, early):
    x = tt.arange(5).reshape(1, 5)

    def one():
        with tt.device("meta"):
            model = Model()
        model.to_empty(device="cpu")
        tt.manual_seed(3)
        initialised(model)
        first = {name: value.clone() for name, value in model.state_dict().items()}
        train(model, tt.optim.AdamW(model.parameters(), lr=0.1), x)
        return first, model.state_dict()

    def ranks():
        with tt.device("meta"):
            model = Model()
        for inner in (*model.blocks, model.head):
            fully_shard(inner)
        fully_shard(model)
        optimizer = tt.optim.AdamW(model.parameters(), lr=0.1) if early else None
        parameters = list(model.parameters())
        model.to_empty(device="cpu")
        assert all(one is other for one, other in zip(parameters, model.parameters(), strict=True))
        dist.barrier()
        tt.manual_seed(3)  # of the threads' one generator, before any of them draws
        dist.barrier()
        initialised(model)
        options = StateDictOptions(full_state_dict=True)
        first = get_model_state_dict(model, options=options)
        train(model, optimizer or tt.optim.AdamW(model.parameters(), lr=0.1), x)
        trained = get_model_state_dict(model, options=options)
        set_model_state_dict(model, first, options=options)
        again = get_model_state_dict(model, options=options)
        assert all(tt.equal(again[name], value) for name, value in first.items())
        return first, trained

    expected, later = one()
    for first, trained in run(ranks, 2, backend=engine):
        for name, value in expected.items():
            assert tt.equal(first[name], value), name
            assert tt.allclose(trained[name], later[name], atol=1e-5), name


@pytest.mark.parametrize("swap", [False, True])
def test_parts_that_are_assigned_are_those_that_the_ranks_compute_with(engine, swap):
    def assign():
        source = nn.Linear(3, 4)
        with tt.no_grad():
            source.weight.copy_(tt.arange(12.0).reshape(4, 3))
            source.bias.fill_(1)
        state = {name: value.clone() for name, value in fully_shard(source).state_dict().items()}
        with tt.device("meta"):
            model = fully_shard(nn.Linear(3, 4))
        before = model.weight
        model.load_state_dict(state, assign=True)
        assert model.weight is before and model.weight.requires_grad
        optimizer = tt.optim.SGD(model.parameters(), lr=0.5)
        loss = model(tt.ones(1, 3)).sum()
        loss.backward()
        optimizer.step()
        return loss.item(), model.weight.full_tensor().tolist(), model(tt.ones(1, 3)).sum().item()

    before = tt.__future__.get_swap_module_params_on_conversion()
    tt.__future__.set_swap_module_params_on_conversion(swap)
    try:
        expected = (tt.arange(12.0).reshape(4, 3) - 0.5).tolist()
        assert run(assign, 2, backend=engine) == [(70.0, expected, 70.0 - 12 * 0.5 - 4 * 0.5)] * 2
    finally:
        tt.__future__.set_swap_module_params_on_conversion(before)
