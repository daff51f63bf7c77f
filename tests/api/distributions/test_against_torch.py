"""Every distribution against PyTorch's: densities, moments, quantiles, entropies, gradients, shapes, messages."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import tt
from tests.api.distributions.cases import CASES, Case, make_torch, make_tt, numbers

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:Singular sample detected")]


def close(case: Case) -> dict[str, Any]:
    """Return tolerances; PyTorch's VonMises has Bessel functions by polynomials of single precision."""
    return {"rtol": 1e-6 if case.name == "VonMises" else 1e-9, "atol": 1e-11, "equal_nan": True}


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    """PyTorch's GeneralizedPareto compares with a zero of the default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    with tt.default_dtype(tt.float64):
        yield
    torch.set_default_dtype(before)


@pytest.fixture(autouse=True)
def checks(monkeypatch):
    """PyTorch's compiler, which some of its functions load, turns the checks of arguments off for the process."""
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)


def with_cases(test: Any) -> Any:
    """Run a test for all cases, in the base tier for one in eight."""
    return pytest.mark.sampled(8)(pytest.mark.parametrize("case", CASES, ids=repr)(test))


def drawn(case: Case) -> Any:
    """Return samples of PyTorch's, the same in every run, as an array."""
    torch.manual_seed(0)
    return numbers(make_torch(case)[0].sample((4,)))


def refused(function: Any) -> bool:
    try:
        function()
    except (NotImplementedError, AttributeError):
        return True
    return False


def test_every_name_of_pytorch_exists_and_has_a_case():
    missing = set(torch.distributions.__all__) - set(tt.distributions.__all__)
    assert not missing
    bases = {"Distribution", "ExponentialFamily"}
    classes = {
        name for name in torch.distributions.__all__
        if inspect.isclass(getattr(torch.distributions, name))
        and issubclass(getattr(torch.distributions, name), torch.distributions.Distribution)
    }  # fmt: skip
    assert classes - bases == {case.name for case in CASES}


@with_cases
def test_densities_and_their_gradients_agree(case):
    samples = drawn(case)
    found, leaves = make_tt(case, gradients=True)
    expected, torch_leaves = make_torch(case, gradients=True)
    value = tt.tensor(samples, requires_grad=samples.dtype.kind == "f")
    torch_value = torch.tensor(samples, requires_grad=samples.dtype.kind == "f")
    ours, theirs = found.log_prob(value), expected.log_prob(torch_value)
    np.testing.assert_allclose(numbers(ours), numbers(theirs), **close(case))
    if not theirs.requires_grad:
        return
    ours.sum().backward()
    theirs.sum().backward()
    for mine, other in zip([value, *leaves], [torch_value, *torch_leaves], strict=True):
        if other.grad is not None and mine.grad is not None:
            of_triangle = np.tril if "scale_tril" in case.parameters and mine.dim() == 2 else np.asarray
            np.testing.assert_allclose(
                of_triangle(numbers(mine.grad)), of_triangle(numbers(other.grad)), rtol=1e-6, atol=1e-9
            )
        else:
            assert other.grad is None or not numbers(other.grad).any()


@with_cases
@pytest.mark.parametrize("name", ["mean", "mode", "variance", "stddev"])
def test_moments_agree(case, name):
    found, expected = make_tt(case)[0], make_torch(case)[0]
    if refused(lambda: getattr(expected, name)):
        assert refused(lambda: getattr(found, name))
        return
    if (case.name, name) == ("Kumaraswamy", "mode"):
        assert np.isnan(numbers(expected.mode)).all()  # PyTorch has none; see test_densities.py
        return
    np.testing.assert_allclose(numbers(getattr(found, name)), numbers(getattr(expected, name)), **close(case))


@with_cases
def test_entropies_and_their_gradients_agree(case):
    found, leaves = make_tt(case, gradients=True)
    expected, torch_leaves = make_torch(case, gradients=True)
    if refused(expected.entropy):
        assert refused(found.entropy)
        return
    ours, theirs = found.entropy(), expected.entropy()
    np.testing.assert_allclose(numbers(ours), numbers(theirs), **close(case))
    np.testing.assert_allclose(numbers(found.perplexity()), numbers(expected.perplexity()), **close(case))
    if theirs.requires_grad:
        ours.sum().backward()
        theirs.sum().backward()
        for mine, other in zip(leaves, torch_leaves, strict=True):
            if other.grad is not None and mine.grad is not None:
                np.testing.assert_allclose(numbers(mine.grad), numbers(other.grad), rtol=1e-7, atol=1e-9)


@with_cases
def test_distribution_functions_and_quantiles_agree(case):
    samples = drawn(case)
    found, expected = make_tt(case)[0], make_torch(case)[0]
    if not refused(lambda: expected.cdf(torch.tensor(samples))):
        ours, theirs = found.cdf(tt.tensor(samples)), expected.cdf(torch.tensor(samples))
        np.testing.assert_allclose(numbers(ours), numbers(theirs), **close(case))
    levels = np.linspace(0.05, 0.95, int(np.prod(samples.shape[1:])) or 1).reshape(samples.shape[1:])
    if not refused(lambda: expected.icdf(torch.tensor(levels))):
        ours, theirs = found.icdf(tt.tensor(levels)), expected.icdf(torch.tensor(levels))
        np.testing.assert_allclose(numbers(ours), numbers(theirs), **close(case))


@with_cases
def test_shapes_flags_supports_and_representations_agree(case):
    found, expected = make_tt(case)[0], make_torch(case)[0]
    assert tuple(found.batch_shape) == tuple(expected.batch_shape)
    assert tuple(found.event_shape) == tuple(expected.event_shape)
    for flag in ("has_rsample", "has_enumerate_support"):
        assert getattr(found, flag) == getattr(expected, flag)
    assert tuple(found.sample((2, 3)).shape) == tuple(expected.sample((2, 3)).shape)
    if (
        case.name != "MixtureSameFamily"
    ):  # whose representation in PyTorch has the logits that it has computed
        assert repr(found).replace("tt.Size", "torch.Size") == repr(expected)
    assert found.arg_constraints.keys() == expected.arg_constraints.keys()
    assert type(found.support).__name__ == type(expected.support).__name__
    assert found.support.event_dim == expected.support.event_dim
    assert found.support.is_discrete == expected.support.is_discrete


@with_cases
def test_an_expanded_distribution_agrees(case):
    found, expected = make_tt(case)[0], make_torch(case)[0]
    shape = (2, *expected.batch_shape)
    ours, theirs = found.expand(shape), expected.expand(shape)
    assert type(ours) is type(found)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert tuple(ours.sample((3,)).shape) == tuple(theirs.sample((3,)).shape)
    samples = numbers(theirs.sample())
    np.testing.assert_allclose(
        numbers(ours.log_prob(tt.tensor(samples))),
        numbers(theirs.log_prob(torch.tensor(samples))),
        **close(case),
    )
    if not refused(lambda: theirs.mean):
        np.testing.assert_allclose(numbers(ours.mean), numbers(theirs.mean), **close(case))
    if not refused(lambda: theirs.variance):
        np.testing.assert_allclose(numbers(ours.variance), numbers(theirs.variance), **close(case))


@with_cases
def test_enumerated_values_agree(case):
    found, expected = make_tt(case)[0], make_torch(case)[0]
    for expand in (True, False):
        if refused(lambda expand=expand: expected.enumerate_support(expand)):
            assert refused(lambda expand=expand: found.enumerate_support(expand))
            return
        ours, theirs = found.enumerate_support(expand), expected.enumerate_support(expand)
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        np.testing.assert_array_equal(numbers(ours), numbers(theirs))


@with_cases
def test_samples_satisfy_the_support_and_have_the_dtype_of_the_parameters(case):
    found, expected = make_tt(case)[0], make_torch(case)[0]
    samples = found.sample((5,))
    assert samples.dtype.name == str(expected.sample().dtype).removeprefix("torch.")
    assert not samples.requires_grad
    assert bool(found.support.check(samples).all())
    assert bool(tt.isfinite(found.log_prob(samples)).all())


@with_cases
def test_differentiable_samples_have_gradients_of_all_parameters(case):
    found, leaves = make_tt(case, gradients=True)
    if not found.has_rsample:
        with pytest.raises(NotImplementedError):
            found.rsample()
        return
    samples = found.rsample((3,))
    assert samples.requires_grad or not leaves
    if leaves:
        (samples * tt.arange(samples.numel(), dtype=tt.float64).reshape(samples.shape)).sum().backward()
        assert all(leaf.grad is not None and bool(tt.isfinite(leaf.grad).all()) for leaf in leaves)


@with_cases
def test_a_wrong_parameter_is_refused_by_the_name_that_pytorch_gives(case):
    _, leaves = make_tt(case)
    for position in range(len(leaves)):
        ours, theirs = (broken(case, position, library) for library in ("tt", "torch"))
        assert (ours is None) == (theirs is None), (position, ours, theirs)
        if ours is not None and theirs is not None:
            assert isinstance(ours, ValueError) and isinstance(theirs, ValueError)
            assert parameter_of(theirs) in (parameter_of(ours), INNER.get(case.name, ""))


INNER = {"Beta": "concentration", "FisherSnedecor": "concentration"}
"""What PyTorch calls the parameter, by a distribution inside that the user has not made."""


def parameter_of(error: Exception) -> str:
    """Return the parameter that a message names."""
    words = str(error).split()
    return words[2] if words[:2] == ["Expected", "parameter"] else ""


def broken(case: Case, position: int, library: str) -> Exception | None:
    """Return the exception for a parameter that is NaN."""
    made = 0

    def tensor(values: Any) -> Any:
        nonlocal made
        made += 1
        array = np.array(values, dtype=float)
        if made - 1 == position:
            array = np.full_like(array, np.nan)
        return (tt if library == "tt" else torch).tensor(array)

    from tests.api.distributions.cases import _made

    module = tt.distributions if library == "tt" else torch.distributions
    try:
        getattr(module, case.name)(**_made(case, module, tensor))
    except ValueError as error:
        return error
    except RuntimeError as error:  # a decomposition of a matrix with NaN
        return ValueError(str(error))
    return None


def test_implicit_gradients_of_samples_agree_with_pytorch():
    for name, arguments in (
        ("Gamma", ([0.2, 1.0, 7.0], [1.0, 2.0, 0.5])),
        ("Beta", ([0.4, 1.0, 7.0], [1.0, 2.0, 0.6])),
        ("Chi2", ([0.9, 2.0, 11.0],)),
    ):
        theirs_cls = getattr(torch.distributions, name)
        theirs = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arguments]
        torch.manual_seed(1)
        samples = theirs_cls(*theirs).rsample()
        samples.sum().backward()
        value = tt.tensor(numbers(samples))
        mine = [tt.tensor(a, dtype=tt.float64) for a in arguments]
        if name == "Beta":
            a, b = mine
            slopes = [
                tt._dirichlet_grad(value, a, a + b) * (1 - value),
                -tt._dirichlet_grad(1 - value, b, a + b) * value,
            ]
        elif name == "Chi2":
            slopes = [tt._standard_gamma_grad(0.5 * mine[0], 0.5 * value)]
        else:
            a, rate = mine
            slopes = [tt._standard_gamma_grad(a, value * rate) / rate, -value / rate]
        for slope, leaf in zip(slopes, theirs, strict=True):
            np.testing.assert_allclose(numbers(slope), numbers(leaf.grad), rtol=2e-3)


def test_a_wrong_value_is_refused_as_in_pytorch():
    for name, arguments, value in (
        ("Normal", (0.0, 1.0), float("nan")),
        ("Exponential", (1.0,), -1.0),
        ("Bernoulli", (0.5,), 2.0),
        ("Poisson", (1.0,), 0.5),
        ("Uniform", (0.0, 1.0), 2.0),
        ("LogNormal", (0.0, 1.0), -1.0),
        ("HalfNormal", (1.0,), -1.0),
        ("Beta", (1.0, 1.0), 1.5),
    ):
        for library in (tt, torch):
            d = getattr(library.distributions, name)(*arguments)
            with pytest.raises(
                ValueError, match=r"Expected value argument \(Tensor of shape \(\)\) to be within"
            ):
                d.log_prob(library.tensor(value))
            unchecked = getattr(library.distributions, name)(*arguments, validate_args=False)
            unchecked.log_prob(library.tensor(value))


def test_distributions_without_checks_agree():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in CASES:
            found = getattr(tt.distributions, case.name)
            assert "validate_args" in inspect.signature(found.__init__).parameters
