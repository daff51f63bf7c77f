"""The loss of sequences without alignments by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.loss import ctc
from tt.core.errors import PlaceError


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(ctc.tables(backend))[0]


def sequences(name="float64", steps=12, batch=5, classes=6, labels=4, blank=0):
    """Return logarithms of probabilities, targets (repeated labels among them), and lengths of both."""
    x = values(1, (steps, batch, classes), "float64")
    x -= np.log(np.exp(x).sum(2, keepdims=True))
    targets = np.random.default_rng(2).integers(1, classes, (batch, labels))
    targets[0, :2] = targets[0, -1:]
    inputs, wanted = [12, 9, 0, 0, 2], [4, 2, 0, 1, 4]
    return [x.astype(name), targets, [min(n, steps) for n in inputs], [min(n, labels) for n in wanted], blank]


def both(own, args, zero_infinity, tolerance):
    loss, alpha = check_against_cpu(own, "_ctc_loss", [*args, zero_infinity], tolerance)
    g = values(3, loss.shape, args[0].dtype.name)
    rest = [g, *args[:4], np.asarray(loss.array), np.asarray(alpha.array), args[4], zero_infinity]
    check_against_cpu(own, "_ctc_loss_backward", rest, tolerance)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("blank", [0, 3])
def test_losses_and_their_gradients(own, blank, zero_infinity):
    both(own, sequences(blank=blank), zero_infinity, 1e-11)


def test_more_states_than_threads(own):
    both(own, sequences(steps=700, labels=300), False, 1e-9)


def test_without_labels_and_without_items(own):
    both(own, sequences(labels=0), False, 1e-11)
    x, targets, *_ = sequences()
    both(own, [x[:, :0], targets[:0], [], [], 0], False, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "tolerance"), [("float32", 1e-4), ("float16", 2e-2)])
def test_other_dtypes_are_computed_in_float32(own, name, tolerance):
    both(own, sequences(name), False, tolerance)


@pytest.mark.parametrize("label", [-1, 6])
def test_labels_that_are_no_class_are_noted(own, label):
    backend, kernels = own
    x, targets, *lengths = sequences()
    targets[1, 1] = label
    with pytest.raises(PlaceError, match=f"the target {label} is not one of 6 classes"):
        kernels["_ctc_loss"](backend.normalise(x), backend.normalise(targets), *lengths, False)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = ctc.kernel_names(name)
    assert set(nvrtc.compile_source(ctc.PROGRAM.source, names, "sm_80").names) == set(names)
