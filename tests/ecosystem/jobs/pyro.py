"""pyro: probabilistic programs: models, guides, variational inference, Hamiltonian Monte Carlo, enumeration."""

from __future__ import annotations

import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from torch.distributions import constraints

from tests.ecosystem import kit

REQUIRES = ("pyro-ppl==1.9.2",)


def _model(x, y=None):
    w = pyro.sample("w", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    sigma = pyro.param("sigma", torch.tensor(0.5), constraint=constraints.positive)
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(x @ w, sigma), obs=y)


def _data():
    x = kit.tensor(20, 2)
    return x, x @ torch.tensor([1.0, -2.0])


def traces():
    pyro.clear_param_store()
    x, y = _data()
    conditioned = poutine.condition(_model, data={"w": torch.tensor([0.5, -1.0])})
    trace = poutine.trace(conditioned).get_trace(x, y)
    trace.compute_log_prob()
    return trace.log_prob_sum(), trace.nodes["w"]["log_prob"], list(trace.nodes), trace.format_shapes()


def svi_of_points():
    pyro.clear_param_store()
    x, y = _data()
    guide = pyro.infer.autoguide.AutoDelta(
        _model, init_loc_fn=pyro.infer.autoguide.init_to_value(values={"w": torch.tensor([0.1, 0.1])})
    )
    svi = SVI(_model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [svi.step(x, y) for _ in range(15)]
    return losses, dict(guide.median().items()), pyro.param("sigma")


def autoguides():
    pyro.clear_param_store()
    x, y = _data()
    result = {}
    init = pyro.infer.autoguide.init_to_value(values={"w": torch.tensor([0.1, 0.1])})
    for kind in (
        pyro.infer.autoguide.AutoNormal,
        pyro.infer.autoguide.AutoDiagonalNormal,
        pyro.infer.autoguide.AutoMultivariateNormal,
    ):
        pyro.clear_param_store()
        guide = kind(_model, init_loc_fn=init)
        loss = SVI(_model, guide, pyro.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO(num_particles=2)).step(
            x, y
        )
        result[kind.__name__] = (
            loss == loss,
            {k: list(v.shape) for k, v in guide.named_parameters()},
            guide.median() if hasattr(guide, "median") else 0,
        )
    return result


def enumeration():
    pyro.clear_param_store()
    data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])

    @config_enumerate
    def model():
        weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=constraints.simplex)
        locs = pyro.param("locs", torch.tensor([1.0, 9.0]))
        with pyro.plate("data", len(data)):
            z = pyro.sample("z", dist.Categorical(weights))
            pyro.sample("x", dist.Normal(locs[z], 1.0), obs=data)

    def guide():
        pass

    svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
    losses = [svi.step() for _ in range(10)]
    return (
        losses,
        pyro.param("weights"),
        pyro.param("locs"),
        TraceEnum_ELBO(max_plate_nesting=1).compute_marginals(model, guide)["z"].probs,
    )


def hamiltonian():
    from pyro.infer.mcmc.util import initialize_model
    from pyro.ops.integrator import velocity_verlet

    pyro.clear_param_store()
    x, y = _data()
    _, potential, _transforms, _ = initialize_model(_model, model_args=(x, y))
    z = {"w": torch.tensor([0.3, 0.2])}
    r = {"w": torch.tensor([1.0, -0.5])}

    def grad(r):
        return r

    z1, r1, g1, u1 = velocity_verlet(z, r, potential, grad, 0.05, 4)
    return z1, r1, g1, u1


def nuts():
    from pyro.infer import MCMC, NUTS

    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    x, y = _data()
    mcmc = MCMC(NUTS(_model), num_samples=30, warmup_steps=20, disable_progbar=True)
    mcmc.run(x, y)
    samples = mcmc.get_samples()["w"]
    return (
        list(samples.shape),
        [abs(v - t) < 0.6 for v, t in zip(samples.mean(0).tolist(), (1.0, -2.0), strict=False)],
        sorted(mcmc.diagnostics()),
    )


def modules():
    from pyro.nn import PyroModule, PyroParam, PyroSample

    class Net(PyroModule):
        def __init__(self):
            super().__init__()
            self.linear = PyroModule[torch.nn.Linear](2, 1)
            self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))
            self.scale = PyroParam(torch.tensor(0.5), constraint=constraints.positive)

        def forward(self, x, y=None):
            with pyro.plate("n", len(x)):
                return pyro.sample("y", dist.Normal(self.linear(x).squeeze(-1), self.scale), obs=y)

    pyro.clear_param_store()
    net = Net()
    with torch.no_grad():
        net.linear.bias.fill_(0.1)
    x, y = _data()
    trace = poutine.trace(poutine.condition(net, {"linear.weight": torch.tensor([[0.5, 0.5]])})).get_trace(
        x, y
    )
    return (
        trace.log_prob_sum(),
        sorted(trace.nodes),
        net.scale,
        pyro.nn.AutoRegressiveNN(2, [4])(torch.zeros(1, 2))[0].shape == (1, 2),
        type(net.linear).__mro__[1].__name__,
    )


def distributions():
    flow = dist.transforms.AffineAutoregressive(
        kit.fill(pyro.nn.AutoRegressiveNN(3, [8], permutation=torch.tensor([0, 2, 1])))
    )
    base = dist.Normal(torch.zeros(3), 1.0).to_event(1)
    x = kit.tensor(4, 3)
    d = dist.TransformedDistribution(base, [flow])
    spline = kit.fill(dist.transforms.Spline(3, count_bins=4))
    return (
        d.log_prob(x),
        dist.MixtureSameFamily(
            dist.Categorical(torch.ones(2)), dist.Normal(torch.tensor([0.0, 1.0]), 1.0)
        ).log_prob(x[:, 0]),
        spline(x),
        spline.log_abs_det_jacobian(x, spline(x)),
        dist.Delta(torch.tensor(1.0)).log_prob(torch.tensor(1.0)),
        dist.LKJ(3, 1.0).log_prob(torch.eye(3)),
        dist.BetaBinomial(2.0, 3.0, 5).log_prob(torch.tensor(2.0)),
        dist.VonMises3D(torch.tensor([0.0, 0.0, 2.0])).log_prob(torch.tensor([0.0, 0.0, 1.0])),
        dist.Stable(1.5, 0.0).log_prob(torch.tensor(0.5)),
        torch.distributions.kl_divergence(dist.Normal(0.0, 1.0).mask(True), dist.Normal(1.0, 1.0).mask(True)),
    )


def hidden_markov():
    d = dist.DiscreteHMM(
        torch.tensor([0.5, 0.5]).log(),
        torch.tensor([[0.9, 0.1], [0.2, 0.8]]).log(),
        dist.Normal(torch.tensor([0.0, 1.0]), 1.0),
    )
    g = dist.GaussianHMM(
        dist.MultivariateNormal(torch.zeros(2), torch.eye(2)),
        torch.eye(2),
        dist.MultivariateNormal(torch.zeros(2), torch.eye(2)),
        torch.ones(2, 1),
        dist.MultivariateNormal(torch.zeros(1), torch.eye(1)),
    )
    return (
        d.log_prob(kit.tensor(5)),
        d.filter(kit.tensor(5)).logits,
        g.log_prob(kit.tensor(5, 1)),
        pyro.ops.contract.einsum(
            "ab,bc->ac", kit.tensor(2, 3), kit.tensor(3, 2), modulo_total=True, plates=""
        ),
    )
