"""Operators on divided parameters: over all ranks as on the whole, element by element, or refused by name."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.fsdp import ShardedParameter, ShardedTensor, fully_shard
from tt.distributed.optim import ZeroRedundancyOptimizer
from tt.nn.parallel import DistributedDataParallel
from tt.nn.utils import clip_grad_norm_, get_total_norm

INF = float("inf")

COUNTED = {
    "norm": lambda p: p.norm(),
    "norm of order 1": lambda p: p.norm(1),
    "norm of order infinity": lambda p: p.norm(INF),
    "norm of order minus infinity": lambda p: tt.linalg.vector_norm(p, -INF),
    "norm of order minus 1": lambda p: tt.linalg.vector_norm(p, -1.0),
    "norms of columns of order minus 2": lambda p: tt.linalg.vector_norm(p, -2, dim=0),
    "norms of order minus 1 together": lambda p: get_total_norm([p.detach(), p.detach()], -1.0),
    "norm of order 0": lambda p: tt.linalg.vector_norm(p, 0),
    "norm of data": lambda p: p.data.norm(),
    "norm of a detached part": lambda p: tt.linalg.norm(p.detach()),
    "norm of a flat view": lambda p: p.view(-1).norm(),
    "norms of columns": lambda p: p.norm(dim=0),
    "sum of the norms of rows": lambda p: p.norm(dim=1).sum(),
    "several norms": lambda p: tt.stack(tt.ops._foreach_norm([p, p * 2])),
    "sum": lambda p: p.sum(),
    "sum of squares": lambda p: (p**2).sum(),
    "sum of columns": lambda p: p.sum(0, keepdim=True),
    "sum of all dimensions": lambda p: p.sum((0, 1)),
    "mean": lambda p: p.mean(),
    "mean of columns": lambda p: p.mean(0),
    "product": lambda p: p.prod(),
    "largest": lambda p: p.max(),
    "largest row sum": lambda p: p.sum(1).max(),
    "smallest": lambda p: p.amin(),
    "largest of columns": lambda p: p.amax(0),
    "largest and their places": lambda p: p.max(0).values * tt.arange(3),
    "places of the largest of columns": lambda p: p.max(0, keepdim=True).indices.double(),
    "smallest and their places": lambda p: p.min(dim=0)[0] + p.min(0)[1],
    "place of the largest": lambda p: p.argmax().double(),
    "place of the smallest, in its dimensions": lambda p: p.abs().argmin(keepdim=True).double(),
    "places of the smallest of columns": lambda p: p.argmin(0, True).double(),
    "places of equal numbers": lambda p: tt.stack([(p * 0).argmax(), (p * 0).argmin()]).double(),
    "place of the first NaN": lambda p: p.where(p < 0.5, tt.full_like(p, float("nan"))).argmax().double(),
    "places of integers": lambda p: (p * 4).long().max(0)[1].double(),
    "products of columns": lambda p: p.prod(0),
    "largest absolute": lambda p: p.abs().max(),
    "all finite": lambda p: p.isfinite().all(),
    "any": lambda p: (p > 1).any(),
    "count": lambda p: tt.count_nonzero(p),
    "dot": lambda p: p.view(-1).dot(p.view(-1)),
    "equal": lambda p: tt.tensor(tt.equal(p, p.detach())),
    "another dtype": lambda p: p.float().sum(),
    "a total in each element": lambda p: (p * p.sum()).sum(),
    "normalised": lambda p: (p / p.norm()).square().sum(1).sum(),
    "where": lambda p: tt.where(p > 0, p, tt.zeros_like(p)).sum(),
    "transposed": lambda p: p.T.sum(),
    "total norm": lambda p: get_total_norm([p.detach(), p.detach()]),
    "sum along another name": lambda p: p.sum(axis=1, keepdim=True).sum(),
    "sum of no dimensions, which are all": lambda p: p.sum(()),
    "deviation": lambda p: p.std(),
    "variance": lambda p: p.var(unbiased=False),
    "variance of columns": lambda p: p.var(0, correction=0, keepdim=True),
    "deviation of columns": lambda p: p.std(0, False),
    "deviation of rows": lambda p: p.std(1).sum(),
    "variance of both dimensions": lambda p: p.var((1, 0), correction=2),
    "variance of views": lambda p: p.view(-1).var(),
    "variance of halves": lambda p: p.detach().to(tt.bfloat16).var(correction=0).float(),
    "deviation of equal numbers": lambda p: (p * 0).std(),
    "variance and mean": lambda p: tt.cat(
        [value.reshape(-1) for value in tt.var_mean(p, dim=0, correction=0)]
    ),
    "deviation and mean": lambda p: tt.stack(tt.std_mean(p, correction=0)),
    "logsumexp": lambda p: p.logsumexp((0, 1)),
    "logsumexp of columns": lambda p: p.logsumexp(0, keepdim=True),
    "smallest and largest": lambda p: tt.stack(p.aminmax()),
    "smallest and largest of columns": lambda p: tt.stack(tt.aminmax(p, dim=0)),
    "mean without NaN": lambda p: p.where(p < 1, tt.tensor(float("nan"), dtype=p.dtype)).nanmean(),
    "softmax of rows": lambda p: (p.softmax(1) * p).sum(),
    "sorted rows": lambda p: (p.sort()[0] * tt.arange(3)).sum(),
    "two largest of each row": lambda p: p.topk(2)[0].sum(),
    "second of each row": lambda p: p.kthvalue(2).values.sum(),
    "normalised rows": lambda p: nn.functional.normalize(p).sum(),
    "quantiles of rows": lambda p: (p.quantile(0.3, dim=1) * 2).sum() + p.nanquantile(0.7, 1, True).sum(),
    "medians of rows": lambda p: p.median(1).values.sum(),
    "type": lambda p: p.type(tt.float32).sum(),
    "another's type": lambda p: p.type_as(tt.ones(1)).cpu().sum(),
    "columns": lambda p: (p[:, 1] * p[..., 0] + p[:, 1:].sum(1) + p[p > 0].sum()).sum(),
}

REFUSED = {
    "matmul": lambda p: p @ p.T,
    "linalg_svd": lambda p: tt.linalg.svd(p),
    "sort": lambda p: p.sort(0),
    "cumsum": lambda p: p.cumsum(0),
    "normalize": lambda p: nn.functional.normalize(p, dim=0),
    "topk": lambda p: p.view(-1).topk(1),
    "norm": lambda p: p.norm("nuc"),
    "argmax": lambda p: p.view(-1).argmax(),
    "max": lambda p: p.T.max(0),
    "sum": lambda p: p.T.sum(0),
    "tril": lambda p: p.tril(),
    "linear": lambda p: nn.functional.linear(tt.ones(1, 3, dtype=p.dtype), p),
    "median": lambda p: p.median(),
    "mse_loss": lambda p: nn.functional.mse_loss(p, p),
    "kthvalue": lambda p: p.kthvalue(2, 0),
    "var": lambda p: p.T.var(0),
    "quantile": lambda p: p.quantile(0.5),
    "quantile of several": lambda p: p.quantile(tt.tensor([0.2, 0.8], dtype=p.dtype), 1),
    "getitem": lambda p: p[1],
    "getitem of a slice": lambda p: p[:2].zero_(),
    "setitem": lambda p: p.data.__setitem__(slice(0, 2), tt.zeros(2, 3)),
    "contains": lambda p: 1.0 in p,
    "to_sparse": lambda p: p.to_sparse(),
    "select": lambda p: p.select(0, 1),
    "narrow": lambda p: p.narrow(0, 1, 1),
    "chunk": lambda p: p.chunk(2),
    "split": lambda p: p.split(1),
    "unbind": lambda p: list(p),
    "diagonal": lambda p: p.diagonal(),
    "normal_": lambda p: p.data.view(-1).normal_(),
    "softmax": lambda p: p.softmax(0),
    "einsum": lambda p: tt.einsum("ij,ij->", p, p),
    "sparse_": lambda p: nn.init.sparse_(p, 0.5),
    "fan in and fan out": lambda p: nn.init.xavier_uniform_(p.T),
    "LBFGS": lambda p: tt.optim.LBFGS([p]),
    "Adafactor": lambda p: tt.optim.Adafactor([p]),
    "Muon": lambda p: tt.optim.Muon([p]),
}


def whole(rows):
    return tt.from_numpy(np.random.default_rng(3).normal(size=(rows, 3)))


def divided(rows):
    layer = nn.Linear(3, rows, bias=False, dtype=tt.float64)
    with tt.no_grad():
        layer.weight.copy_(whole(rows))
    return fully_shard(layer)


@pytest.mark.parametrize(("rows", "size"), [(4, 2), (5, 2), (1, 2), (4, 3)])
def test_reductions_of_a_divided_parameter_and_their_gradients_are_those_of_the_whole(engine, rows, size):
    def reduce():
        part, reference = divided(rows).weight, nn.Parameter(whole(rows))
        for name, reduction in COUNTED.items():
            result, expected = reduction(part), reduction(reference)
            np.testing.assert_allclose(
                result.detach().numpy(), expected.detach().numpy(), rtol=1e-6, err_msg=name
            )
            assert result.requires_grad == expected.requires_grad, name
            if expected.requires_grad:
                part.grad = reference.grad = None
                result.sum().backward()
                expected.sum().backward()
                rest = part.placement.part(reference.grad).numpy()
                np.testing.assert_allclose(part.grad.numpy(), rest, rtol=1e-6, atol=1e-9, err_msg=name)
        return True

    assert run(reduce, size, backend=engine) == [True] * size


def test_what_cannot_be_put_together_of_rows_is_refused_by_name():
    def refuse():
        part = divided(4).weight
        for name, call in REFUSED.items():
            with pytest.raises(
                NotImplementedError, match=rf"^{name.partition(' of ')[0]}.*divided among ranks"
            ):
                call(part)
        return True

    assert run(refuse, 2) == [True, True]


def test_results_element_by_element_are_parts_and_changes_in_place_reach_the_parameter(engine):
    def change():
        model = divided(4)
        part = model.weight
        double = part * 2
        assert type(double) is ShardedTensor and isinstance(part, ShardedParameter)
        np.testing.assert_allclose(double.full_tensor().detach().numpy(), 2 * whole(4).numpy())
        with tt.no_grad():
            assert part.mul_(3) is part
            plain = tt.ones_like(part)
            assert type(plain) is tt.Tensor and plain.add_(part) is plain and type(plain) is tt.Tensor
        np.testing.assert_allclose(part.full_tensor().numpy(), 3 * whole(4).numpy())
        assert tuple(part.to_local().shape) == (2, 3) and type(part.to_local()) is tt.Tensor
        return True

    assert run(change, 2, backend=engine) == [True, True]


BATCH = np.random.default_rng(4).normal(size=(4, 3))


@pytest.mark.parametrize("norm_type", [2.0, 1.0, INF])
@pytest.mark.parametrize("foreach", [None, False])
def test_clipping_by_the_functions_for_all_modules_counts_the_rows_of_all_ranks(engine, norm_type, foreach):
    def train(shards):
        model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
        with tt.no_grad():
            for number, parameter in enumerate(model.parameters()):
                parameter.copy_(tt.arange(parameter.numel()).reshape(parameter.shape).sin() + number)
        batch = tt.from_numpy(BATCH)
        if shards:
            fully_shard(model[0])
            fully_shard(model)
            batch = batch[2 * dist.get_rank() :][:2]
        model(batch).square().mean().backward()
        before = get_total_norm([p.grad for p in model.parameters()], norm_type, foreach=foreach)
        total = clip_grad_norm_(model.parameters(), 0.05, norm_type, foreach=foreach)
        assert before.item() == total.item()
        after = get_total_norm([p.grad for p in model.parameters()], norm_type)
        grads = [p.grad.full_tensor() if shards else p.grad for p in model.parameters()]
        return [total.item(), after.item(), *(value for g in grads for value in g.flatten().tolist())]

    expected = train(False)
    for result in run(lambda: train(True), 2, backend=engine):
        assert result == pytest.approx(expected, rel=1e-9)


def test_files_have_the_rows_of_the_rank_that_writes_them(engine):
    def save():
        model = divided(4)
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model(tt.ones(1, 3, dtype=tt.float64)).sum().backward()
        optimizer.step()
        file = io.BytesIO()
        tt.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.seek(0)
        state = tt.load(file)
        weight = state["model"]["weight"]
        moved = state["optimizer"]["state"][0]["momentum_buffer"]
        assert type(weight) is type(moved) is tt.Tensor
        with tt.no_grad():
            model.weight.zero_()
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return bool((model.weight.to_local() == weight).all()), tuple(moved.shape)

    assert run(save, 2, backend=engine) == [(True, (2, 3))] * 2


def test_zero_refuses_an_optimizer_that_looks_at_all_parameters_together(engine):
    def refuse():
        with pytest.raises(NotImplementedError, match="LBFGS looks at all parameters together"):
            ZeroRedundancyOptimizer(nn.Linear(1, 1).parameters(), tt.optim.LBFGS)
        return True

    assert run(refuse, 1, backend=engine) == [True]


def test_replicas_are_whole_tensors_and_reduce_alone(engine):
    def reduce():
        model = DistributedDataParallel(nn.Linear(2, 2))
        if dist.get_rank() == 0:  # no rank waits for another
            return model.module.weight.norm().item() > 0
        return True

    assert run(reduce, 2, backend=engine) == [True, True]


def test_hooks_and_autograd_grad_get_parts_whose_norms_count_all_ranks(engine):
    def norms():
        part, seen = divided(4).weight, []
        layer = fully_shard(nn.Linear(3, 4))
        for parameter in layer.parameters():
            parameter.register_hook(lambda g: seen.append(g.norm().item()))
            parameter.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm().item()))
        loss = layer(tt.ones(1, 3)).sum()
        asked = tt.autograd.grad(loss, list(layer.parameters()), retain_graph=True)
        seen.clear()
        loss.backward()
        vector = nn.utils.parameters_to_vector([part])
        nn.utils.vector_to_parameters(vector * 2, [part])
        np.testing.assert_allclose(part.full_tensor().detach().numpy(), 2 * whole(4).numpy())
        return [g.norm().item() for g in asked], sorted(seen)

    weight, bias = 12**0.5, 2.0
    for asked, seen in run(norms, 2, backend=engine):
        assert asked == pytest.approx([weight, bias])
        assert seen == pytest.approx([bias, bias, weight, weight])
