"""gpytorch: Gaussian processes: exact and variational regression, kernels, several tasks."""

from __future__ import annotations

import gpytorch
import torch

from tests.ecosystem import kit

REQUIRES = ("gpytorch==1.15.2",)


class _Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def _data(n=24):
    x = torch.linspace(0, 1, n)
    return x, torch.sin(6 * x) + 0.1 * kit.tensor(n)


def _train(model, likelihood, x, y, steps=15):
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def exact_rbf():
    x, y = _data()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = _Exact(x, y, likelihood, gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()))
    losses = _train(model, likelihood, x, y)
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        prediction = likelihood(model(torch.linspace(0, 1.2, 7)))
        low, high = prediction.confidence_region()
    return {
        "losses": losses,
        "mean": prediction.mean,
        "low": low,
        "high": high,
        "state": dict(model.state_dict().items()),
    }


def exact_matern_ard():
    x = kit.tensor(20, 3)
    y = x.sum(-1).sin()
    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-3)
    )
    kernel = gpytorch.kernels.ScaleKernel(
        gpytorch.kernels.MaternKernel(
            nu=2.5, ard_num_dims=3, lengthscale_prior=gpytorch.priors.GammaPrior(3.0, 6.0)
        ),
        outputscale_prior=gpytorch.priors.GammaPrior(2.0, 0.15),
    )
    model = _Exact(x, y, likelihood, kernel)
    losses = _train(model, likelihood, x, y)
    model.eval()
    prediction = model(kit.tensor(5, 3))
    return losses, prediction.mean, prediction.variance, kernel.base_kernel.lengthscale


def kernels():
    x = kit.tensor(6, 2)
    k = gpytorch.kernels
    result = {}
    for kernel in (
        k.RBFKernel(),
        k.MaternKernel(nu=0.5),
        k.MaternKernel(nu=1.5),
        k.PeriodicKernel(),
        k.LinearKernel(),
        k.CosineKernel(),
        k.RQKernel(),
        k.PolynomialKernel(power=2),
        k.PiecewisePolynomialKernel(q=2),
        k.RBFKernel() + k.LinearKernel(),
        k.RBFKernel() * k.PeriodicKernel(),
    ):
        result[type(kernel).__name__ + str(len(result))] = kernel(x).to_dense()
    return result


def variational():
    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
            strategy = gpytorch.variational.VariationalStrategy(
                self, points, distribution, learn_inducing_locations=True
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x, y = _data(40)
    model = Model(torch.linspace(0, 1, 8))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    optimizer = torch.optim.Adam(
        [{"params": model.parameters()}, {"params": likelihood.parameters()}], lr=0.05
    )
    mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=40)
    # The first pass initialises the variational distribution at the prior with a little noise of its own.
    model.variational_strategy.variational_params_initialized.fill_(1)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = -mll(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses, model(torch.linspace(0, 1, 5)).mean


def multitask():
    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=2)
            self.covar_module = gpytorch.kernels.MultitaskKernel(
                gpytorch.kernels.RBFKernel(), num_tasks=2, rank=1
            )

        def forward(self, x):
            return gpytorch.distributions.MultitaskMultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    x = torch.linspace(0, 1, 12)
    y = torch.stack([torch.sin(6 * x), torch.cos(6 * x)], -1)
    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=2)
    model = Model(x, y, likelihood)
    kit.fill(model)
    losses = _train(model, likelihood, x, y, 8)
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        prediction = likelihood(model(torch.linspace(0, 1, 4)))
    return losses, prediction.mean, prediction.variance


def classification():
    x, y = _data(20)
    labels = (y > 0).long()
    likelihood = gpytorch.likelihoods.DirichletClassificationLikelihood(labels, learn_additional_noise=True)
    targets = likelihood.transformed_targets

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, targets, likelihood)
            shape = torch.Size((2,))
            self.mean_module = gpytorch.means.ConstantMean(batch_shape=shape)
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(batch_shape=shape), batch_shape=shape
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model()
    model.train()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    loss = -mll(model(x), targets).sum()
    loss.backward()
    model.eval()
    with torch.no_grad():
        return loss, model(x).loc.max(0)[1], model.covar_module.raw_outputscale.grad
