"""Transforms and constraints: inverses, determinants, shapes and caches, against PyTorch's and against autograd."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tt
from tests.api.distributions.cases import numbers
from tt.distributions import biject_to, constraints, transform_to, transforms

VECTOR = [0.3, -1.2, 0.8, 2.1, -0.4, 0.05]
MATRIX = [[0.3, -1.2, 0.8], [2.1, -0.4, 0.05], [1.0, 0.2, -0.7]]


def t(library: Any, values: Any) -> Any:
    return library.tensor(values, dtype=library.float64)


TRANSFORMS = {
    "Abs": (lambda d, lib: d.AbsTransform(), VECTOR),
    "Affine": (lambda d, lib: d.AffineTransform(1.5, -2.0), VECTOR),
    "Affine of tensors": (lambda d, lib: d.AffineTransform(t(lib, [1.0, 2.0]), t(lib, [[-0.5, 3.0]]), 1), [[1.0, 2.0]]),
    "Cat": (
        lambda d, lib: d.CatTransform([d.ExpTransform(), d.identity_transform, d.TanhTransform()], 0, [1, 2, 3]),
        VECTOR,
    ),
    "Compose": (lambda d, lib: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.SigmoidTransform()]), VECTOR),
    "Compose of vectors": (
        lambda d, lib: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.1, 0.2), d.StickBreakingTransform()]),
        [VECTOR, VECTOR[::-1]],
    ),
    "CorrCholesky": (lambda d, lib: d.CorrCholeskyTransform(), VECTOR),
    "CorrCholesky of a batch": (lambda d, lib: d.CorrCholeskyTransform(), [VECTOR[:3], VECTOR[3:]]),
    "CumulativeDistribution": (
        lambda d, lib: d.CumulativeDistributionTransform(d.Normal(t(lib, 0.5), t(lib, 2.0))), VECTOR,
    ),
    "Exp": (lambda d, lib: d.ExpTransform(), VECTOR),
    "Independent": (lambda d, lib: d.IndependentTransform(d.ExpTransform(), 1), [VECTOR, VECTOR]),
    "LowerCholesky": (lambda d, lib: d.LowerCholeskyTransform(), MATRIX),
    "PositiveDefinite": (lambda d, lib: d.PositiveDefiniteTransform(), MATRIX),
    "Power": (lambda d, lib: d.PowerTransform(t(lib, 1.7)), [0.3, 1.2, 2.5]),
    "Power of negative exponents": (lambda d, lib: d.PowerTransform(t(lib, [-0.5, 2.0, -1.0])), [0.3, 1.2, 2.5]),
    "Reshape": (lambda d, lib: d.ReshapeTransform((6,), (2, 3)), [VECTOR, VECTOR]),
    "Sigmoid": (lambda d, lib: d.SigmoidTransform(), VECTOR),
    "Softmax": (lambda d, lib: d.SoftmaxTransform(), [VECTOR, VECTOR[::-1]]),
    "Softplus": (lambda d, lib: d.SoftplusTransform(), VECTOR),
    "Stack": (lambda d, lib: d.StackTransform([d.ExpTransform(), d.TanhTransform()], -2), [VECTOR, VECTOR]),
    "StickBreaking": (lambda d, lib: d.StickBreakingTransform(), [VECTOR, VECTOR[::-1]]),
    "Tanh": (lambda d, lib: d.TanhTransform(), VECTOR),
    "inverse": (lambda d, lib: d.ExpTransform().inv, [0.3, 1.2, 2.5]),
}  # fmt: skip

CONSTRAINTS = {
    "real": lambda c: c.real,
    "real_vector": lambda c: c.real_vector,
    "positive": lambda c: c.positive,
    "greater_than": lambda c: c.greater_than(2.0),
    "greater_than_eq": lambda c: c.greater_than_eq(-1.0),
    "less_than": lambda c: c.less_than(0.5),
    "unit_interval": lambda c: c.unit_interval,
    "interval": lambda c: c.interval(-1.0, 3.0),
    "half_open_interval": lambda c: c.half_open_interval(-1.0, 3.0),
    "simplex": lambda c: c.simplex,
    "independent": lambda c: c.independent(c.positive, 1),
    "cat": lambda c: c.cat([c.positive, c.real], -1, [2, 4]),
    "stack": lambda c: c.stack([c.positive, c.real, c.unit_interval, c.real, c.real, c.real], -1),
    "corr_cholesky": lambda c: c.corr_cholesky,
}
OF_MATRICES = {
    "lower_cholesky": lambda c: c.lower_cholesky,
    "positive_definite": lambda c: c.positive_definite,
    "positive_semidefinite": lambda c: c.positive_semidefinite,
}


@pytest.mark.torch
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_agrees_with_pytorch(name):
    torch = pytest.importorskip("torch")
    make, values = TRANSFORMS[name]
    ours, theirs = make(tt.distributions, tt), make(torch.distributions, torch)
    x, other = t(tt, values), t(torch, values)
    y, expected = ours(x), theirs(other)
    np.testing.assert_allclose(numbers(y), numbers(expected), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(numbers(ours.inv(y)), numbers(theirs.inv(expected)), rtol=1e-8, atol=1e-10)
    assert ours.bijective == theirs.bijective
    assert tuple(ours.forward_shape(x.shape)) == tuple(theirs.forward_shape(other.shape)) == tuple(y.shape)
    assert tuple(ours.inverse_shape(y.shape)) == tuple(theirs.inverse_shape(expected.shape))
    for end in ("domain", "codomain"):
        mine, reference = getattr(ours, end), getattr(theirs, end)
        assert type(mine).__name__ == type(reference).__name__
        assert (mine.event_dim, mine.is_discrete) == (reference.event_dim, reference.is_discrete)
    try:
        slope = theirs.log_abs_det_jacobian(other, expected)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            ours.log_abs_det_jacobian(x, y)
    else:
        np.testing.assert_allclose(
            numbers(ours.log_abs_det_jacobian(x, y)), numbers(slope), rtol=1e-10, atol=1e-12
        )
    try:
        sign = theirs.sign
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            _ = ours.sign
    else:
        np.testing.assert_array_equal(*(s if isinstance(s, int) else numbers(s) for s in (ours.sign, sign)))


@pytest.mark.parametrize(
    "name", ["Affine", "Compose", "Exp", "Sigmoid", "Softplus", "Tanh", "CumulativeDistribution"]
)
def test_a_determinant_is_the_derivative_by_autograd(name):
    make, values = TRANSFORMS[name]
    transform = make(tt.distributions, tt)
    x = tt.tensor(values, dtype=tt.float64, requires_grad=True)
    y = transform(x)
    (slope,) = tt.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(
        numbers(transform.log_abs_det_jacobian(x, y)), np.log(np.abs(numbers(slope))), rtol=1e-9
    )


@pytest.mark.parametrize("registry", [biject_to, transform_to], ids=["biject_to", "transform_to"])
@pytest.mark.parametrize("name", [*CONSTRAINTS, *OF_MATRICES])
def test_the_transform_for_a_constraint_reaches_it(registry, name):
    constraint = {**CONSTRAINTS, **OF_MATRICES}[name](constraints)
    x = t(tt, MATRIX if name in OF_MATRICES else VECTOR)
    if registry is biject_to and name in OF_MATRICES:
        with pytest.raises(NotImplementedError):  # no bijection: the part above the diagonal is lost
            registry(constraint)
        return
    transform = registry(constraint)
    y = transform(x)
    assert bool(constraint.check(y).all())
    assert bool(tt.allclose(transform(transform.inv(y)), y))
    if registry is biject_to:
        assert transform.bijective
        assert bool(tt.allclose(transform.inv(y), x))


@pytest.mark.torch
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", [*CONSTRAINTS, *OF_MATRICES])
def test_the_transform_for_a_constraint_is_that_of_pytorch(registry, name):
    torch = pytest.importorskip("torch")
    make = {**CONSTRAINTS, **OF_MATRICES}[name]
    values = MATRIX if name in OF_MATRICES else VECTOR
    if registry == "biject_to" and name in OF_MATRICES:
        return  # no bijection: the part above the diagonal is lost
    ours = getattr(tt.distributions, registry)(make(constraints))
    theirs = getattr(torch.distributions, registry)(make(torch.distributions.constraints))
    assert repr(ours) == repr(theirs)
    np.testing.assert_allclose(numbers(ours(t(tt, values))), numbers(theirs(t(torch, values))), rtol=1e-10)


def test_a_cache_keeps_the_last_argument():
    x = t(tt, VECTOR)
    for name, (make, values) in TRANSFORMS.items():
        if name in ("inverse", "Power of negative exponents"):
            continue
        x = t(tt, values)
        transform = make(tt.distributions, tt)
        cached = transform.with_cache(1)
        assert cached.with_cache(1) is cached
        y = cached(x)
        if not isinstance(cached, transforms.ComposeTransform):
            assert cached(x) is y
        assert cached.inv(y) is x
        assert transform.inv(transform(x)) is not x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        transforms.ExpTransform(cache_size=2)


def test_equality_and_inverses_of_transforms():
    assert transforms.ExpTransform() == transforms.ExpTransform() != transforms.TanhTransform()
    assert transforms.AffineTransform(1.0, 2.0) == transforms.AffineTransform(1.0, 2.0)
    assert transforms.AffineTransform(1.0, 2.0) != transforms.AffineTransform(1.0, 3.0)
    exp = transforms.ExpTransform()
    assert exp.inv.inv is exp and exp.inv is exp.inv
    assert exp.inv == transforms.ExpTransform().inv
    both = transforms.ComposeTransform([exp, transforms.AffineTransform(0.0, 2.0)])
    assert both == transforms.ComposeTransform([exp, transforms.AffineTransform(0.0, 2.0)])
    assert repr(both.inv.inv) == repr(both)
    assert transforms.identity_transform == transforms.ComposeTransform([])


def test_transforms_and_distributions_can_be_pickled():
    transform = transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(0.0, 2.0)])
    _ = transform.inv
    assert pickle.loads(pickle.dumps(transform)) == transform
    d = pickle.loads(pickle.dumps(tt.distributions.LogNormal(tt.zeros(2), 1.0)))
    assert d.batch_shape == (2,) and bool((d.loc == 0).all())


# --- constraints -----------------------------------------------------------------------------------------------

CHECKED = {
    "boolean": [0.0, 1.0, 2.0, float("nan")],
    "real": [0.0, float("inf"), float("nan")],
    "positive": [-1.0, 0.0, 1.0, float("nan")],
    "nonnegative": [-1.0, 0.0, 1.0],
    "nonnegative_integer": [-1.0, 0.0, 0.5, 3.0],
    "positive_integer": [0.0, 1.0, 1.5],
    "unit_interval": [-0.1, 0.0, 1.0, 1.1],
    "one_hot": [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
    "simplex": [[0.2, 0.8], [0.5, 0.6], [-0.5, 1.5]],
    "real_vector": [[0.2, 0.8], [0.5, float("nan")]],
    "lower_triangular": [[[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.1], [2.0, 1.0]]],
    "lower_cholesky": [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 0.0], [2.0, -1.0]], [[1.0, 0.1], [2.0, 1.0]]],
    "corr_cholesky": [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]],
    "square": [[[1.0, 0.0], [0.6, 0.8]]],
    "symmetric": [[[1.0, 0.5], [0.5, 0.8]], [[1.0, 0.5], [0.6, 0.8]]],
    "positive_semidefinite": [[[1.0, 0.5], [0.5, 0.8]], [[1.0, 2.0], [2.0, 1.0]]],
    "positive_definite": [[[1.0, 0.5], [0.5, 0.8]], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]],
}
MADE = {
    "greater_than": (lambda c: c.greater_than(1.0), [0.0, 1.0, 2.0]),
    "greater_than_eq": (lambda c: c.greater_than_eq(1.0), [0.0, 1.0, 2.0]),
    "less_than": (lambda c: c.less_than(1.0), [0.0, 1.0, 2.0]),
    "interval": (lambda c: c.interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    "half_open_interval": (lambda c: c.half_open_interval(0.0, 1.0), [-1.0, 0.0, 1.0, 2.0]),
    "integer_interval": (lambda c: c.integer_interval(0, 2), [-1.0, 0.0, 0.5, 2.0, 3.0]),
    "multinomial": (lambda c: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]),
    "independent": (lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [2.0, -2.0]]),
    "cat": (lambda c: c.cat([c.positive, c.boolean], 0, [2, 1]), [1.0, -1.0, 2.0]),
    "stack": (lambda c: c.stack([c.positive, c.boolean], 0), [1.0, 0.5]),
    "mixture": (lambda c: c.MixtureSameFamilyConstraint(c.positive), [1.0, -0.5]),
}


@pytest.mark.torch
def test_constraints_agree_with_pytorch():
    torch = pytest.importorskip("torch")
    assert not set(torch.distributions.constraints.__all__) - set(constraints.__all__)
    made = {name: (lambda c, name=name: getattr(c, name), values) for name, values in CHECKED.items()}
    for name, (make, values) in {**made, **MADE}.items():
        ours, theirs = make(constraints), make(torch.distributions.constraints)
        found, expected = ours.check(t(tt, values)), theirs.check(t(torch, values))
        np.testing.assert_array_equal(numbers(found), numbers(expected), err_msg=name)
        assert repr(ours) == repr(theirs)
        assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)


def test_constraints_that_depend_on_parameters():
    assert constraints.is_dependent(constraints.dependent)
    assert constraints.is_dependent(tt.distributions.Uniform.support)
    assert not constraints.is_dependent(tt.distributions.Normal.support)
    assert tt.distributions.Uniform.support.event_dim == 0
    with pytest.raises(NotImplementedError, match="event_dim"):
        _ = constraints.dependent.event_dim
    with pytest.raises(ValueError, match="cannot be checked alone"):
        constraints.dependent.check(tt.zeros(1))


def test_wrong_arguments_are_refused():
    for wrong in (
        lambda: constraints.independent(3, 1),
        lambda: constraints.cat([3]),
        lambda: constraints.cat([constraints.real], 0, [1, 2]),
        lambda: transforms.CatTransform([3]),
        lambda: transforms.StackTransform([transforms.ExpTransform()], 0)(tt.zeros(2)),
        lambda: transforms.ReshapeTransform((2,), (3,)),
        lambda: transforms.ReshapeTransform((2,), (1, 2))(tt.zeros(3)),
        lambda: transforms.IndependentTransform(transforms.ExpTransform(), 1)(tt.tensor(1.0)),
        lambda: transforms.CorrCholeskyTransform().forward_shape((5,)),
        lambda: transforms.CorrCholeskyTransform().inverse_shape((2, 3)),
        lambda: tt.distributions.utils.vec_to_tril_matrix(tt.zeros(4)),
        lambda: tt.distributions.utils.tril_matrix_to_vec(tt.zeros(2, 2), 2),
    ):
        with pytest.raises(ValueError):
            wrong()
    for registry in (biject_to, transform_to):
        with pytest.raises(NotImplementedError, match="no transform to the constraint Boolean"):
            registry(constraints.boolean)
        with pytest.raises(TypeError, match="takes a constraint"):
            registry.register(3, lambda c: c)


def test_names_by_which_libraries_reach_inner_parts():
    transforms = tt.distributions.transforms
    assert isinstance(transforms.ExpTransform().inv, transforms._InverseTransform)
    assert transforms._clipped_sigmoid(tt.tensor([200.0])).item() < 1.0
    factor = tt.distributions.multivariate_normal._precision_to_scale_tril(
        tt.tensor([[4.0, 0.0], [0.0, 1.0]])
    )
    assert factor.tolist() == [[0.5, 0.0], [0.0, 1.0]]
    assert (tt.distributions.Normal, tt.distributions.Normal) in tt.distributions.kl._KL_REGISTRY
