"""botorch: Bayesian optimization: models, acquisition functions, their optimization."""

from __future__ import annotations

import torch
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
    qLogExpectedImprovement,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

from tests.ecosystem import kit

REQUIRES = ("botorch==0.18.1",)


def _data():
    x = 0.9 * kit.tensor(10, 2, positive=True).double()
    return x, 1 - (x - 0.4).norm(dim=-1, keepdim=True)


def _model():
    x, y = _data()
    return SingleTaskGP(x, y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))


def fit():
    model = _model()
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll)
    posterior = model.posterior(torch.tensor([[0.4, 0.4], [0.9, 0.1]], dtype=torch.float64))
    return [round(v, 3) for v in posterior.mean.flatten().tolist()], [
        round(v, 3) for v in model.covar_module.lengthscale.flatten().tolist()
    ]


def posterior():
    model = _model()
    p = model.posterior(kit.tensor(3, 2).double(), observation_noise=True)
    return (
        p.mean,
        p.variance,
        p.rsample(torch.Size([2])).shape == (2, 3, 1),
        p.quantile(torch.tensor(0.8, dtype=torch.float64)),
    )


def analytic():
    model = _model()
    x = (0.9 * kit.tensor(4, 1, 2, positive=True).double()).requires_grad_()
    result = {}
    for f in (
        ExpectedImprovement(model, best_f=0.9),
        LogExpectedImprovement(model, best_f=0.9),
        UpperConfidenceBound(model, beta=0.2),
    ):
        value = f(x)
        result[type(f).__name__] = (value, torch.autograd.grad(value.sum(), x)[0])
    return result


def monte_carlo():
    model = _model()
    x = (0.9 * kit.tensor(3, 2, 2, positive=True).double()).requires_grad_()
    sampler = SobolQMCNormalSampler(torch.Size([32]))
    sampler.base_samples = None
    sampler(model.posterior(x))
    sampler.base_samples.copy_(
        torch.from_numpy(
            __import__("numpy").random.default_rng(0).normal(size=tuple(sampler.base_samples.shape))
        )
    )
    result = {}
    for kind in (qExpectedImprovement, qLogExpectedImprovement):
        f = kind(model, best_f=0.8, sampler=sampler)
        value = f(x)
        result[kind.__name__] = (value, torch.autograd.grad(value.sum(), x)[0])
    return result


def optimize():
    model = _model()
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
    start = 0.9 * kit.tensor(4, 1, 2, positive=True).double()
    candidate, value = optimize_acqf(
        LogExpectedImprovement(model, best_f=0.9),
        bounds=bounds,
        q=1,
        num_restarts=4,
        raw_samples=None,
        batch_initial_conditions=start,
    )
    return [round(v, 3) for v in candidate.flatten().tolist()], round(value.item(), 3)


def multi_objective():
    from botorch.utils.multi_objective import is_non_dominated
    from botorch.utils.multi_objective.box_decompositions.dominated import DominatedPartitioning
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    y = kit.tensor(12, 2).double() + 1
    mask = is_non_dominated(y)
    volume = Hypervolume(torch.zeros(2, dtype=torch.float64)).compute(y[mask])
    return mask, volume, DominatedPartitioning(torch.zeros(2, dtype=torch.float64), y).compute_hypervolume()


def model_list():
    x, y = _data()
    model = ModelListGP(SingleTaskGP(x, y), SingleTaskGP(x, y.cos()))
    mll = SumMarginalLogLikelihood(model.likelihood, model)
    return model.posterior(x[:3]).mean, mll(model(*model.train_inputs), model.train_targets)


def test_functions():
    from botorch.test_functions import Branin, BraninCurrin, Hartmann

    x = 0.9 * kit.tensor(3, 6, positive=True).double()
    return Hartmann(dim=6)(x), Branin()(x[:, :2] * 5), BraninCurrin()(x[:, :2])
