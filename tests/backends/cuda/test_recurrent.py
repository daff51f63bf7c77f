"""Recurrent layers by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, compare, on_cpu, served, values
from tt.backends.cuda import recurrent
from tt.core.errors import ValueRangeError

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
SIZES = (3, 2, 2, 1)


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(recurrent.tables(backend))[0]


def layer(mode, name="float32", packed=False, out=None, bias=True, steps=4, batch=3, size=5, hidden=6):
    """Return the arguments of a layer, without its direction."""
    rows = GATES[mode] * hidden
    lead = (sum(SIZES),) if packed else (steps, batch)
    made = [
        values(1, (*lead, size), name), values(2, (batch, out or hidden), name),
        values(3, (batch, hidden), name) if mode == "lstm" else None, values(4, (rows, size), name),
        values(5, (rows, out or hidden), name), values(6, (rows,), name) if bias else None,
        values(7, (rows,), name) if bias else None, values(8, (out, hidden), name) if out else None,
    ]  # fmt: skip
    return [*made, np.array(SIZES) if packed else None, mode]


def handles(backend, args):
    return [backend.normalise(x) if isinstance(x, np.ndarray) and x.dtype != np.int64 else x for x in args]


def both(own, args, tolerance):
    """Run a layer and its gradients on both devices, and compare all results."""
    backend, kernels = own
    found = kernels["_rnn_layer"](*handles(backend, args))
    expected = on_cpu("_rnn_layer", args)
    compare(found, expected, tolerance)
    x, hx, cx, w_ih, w_hh, _, _, w_hr, sizes, mode, reverse = args
    output, h_n, c_n, saved = [np.asarray(one.array) for one in found]
    name = x.dtype.name
    grads = [values(seed, one.shape, name) for seed, one in ((11, output), (12, h_n), (13, c_n))]
    extra = values(14, saved.shape, saved.dtype.name)
    for given in ((grads[0], None, None, None), (*grads[:2], grads[2] if mode == "lstm" else None, extra)):
        rest = [*given, x, hx, cx, w_ih, w_hh, w_hr, sizes, output, saved, mode, reverse]
        again = kernels["_rnn_layer_backward"](*handles(backend, rest))
        compare(again, on_cpu("_rnn_layer_backward", rest), tolerance)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode", list(GATES))
def test_layers_and_their_gradients(own, mode, packed, reverse):
    both(own, [*layer(mode, "float64", packed), reverse], 1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_projections_of_states(own, packed, reverse):
    both(own, [*layer("lstm", "float64", packed, out=2), reverse], 1e-12)
    both(own, [*layer("lstm", "float64", packed, out=9, bias=False), reverse], 1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "tolerance"), [("float32", 1e-4), ("float16", 2e-2), ("bfloat16", 1e-1)])
def test_half_types_are_rounded_once(own, name, tolerance):
    both(own, [*layer("gru", name, steps=3), False], tolerance)


def test_layers_without_elements(own):
    for sizes in ({"batch": 0}, {"size": 0}, {"hidden": 0}, {"steps": 1, "batch": 1}):
        both(own, [*layer("lstm", "float64", **sizes), False], 1e-12)


def test_packed_rows_that_do_not_fit_are_refused(own):
    backend, kernels = own
    args = handles(backend, [*layer("gru", packed=True), False])
    for wrong in ([3, 2, 3], [3, 3, 1], [3, 2, 2, 0, 1], [2, 2, 2, 2]):
        args[8] = np.array(wrong)
        with pytest.raises(ValueRangeError, match="never rise"):
            kernels["_rnn_layer"](*args)


@pytest.mark.parametrize("name", ["float32", pytest.param("float64", marks=pytest.mark.exhaustive)])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = recurrent.kernel_names(name)
    assert set(nvrtc.compile_source(recurrent.PROGRAM.source, names, "sm_80").names) == set(names)
