"""RNN, LSTM and GRU: values by NumPy and by torch, parameters, packed sequences, errors."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tt import nn
from tt.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

LAYERS = ("RNN", "LSTM", "GRU")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_by_numpy(layer, x):
    u, v, p, q = (w.detach().numpy() for w in layer.parameters())
    h = c = np.zeros((x.shape[1], layer.hidden_size))
    found = []
    for step in x:
        i, f, g, o = np.split(step @ u.T + p + h @ v.T + q, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found), c


def gru_by_numpy(layer, x):
    u, v, p, q = (w.detach().numpy() for w in layer.parameters())
    h = np.zeros((x.shape[1], layer.hidden_size))
    found = []
    for step in x:
        (r, z, n), (r2, z2, n2) = np.split(step @ u.T + p, 3, 1), np.split(h @ v.T + q, 3, 1)
        r, z = sigmoid(r + r2), sigmoid(z + z2)
        n = np.tanh(n + r * n2)
        h = (1 - z) * n + z * h
        found.append(h)
    return np.stack(found), None


def rnn_by_numpy(layer, x):
    u, v, p, q = (w.detach().numpy() for w in layer.parameters())
    h = np.zeros((x.shape[1], layer.hidden_size))
    found = []
    for step in x:
        h = np.maximum(step @ u.T + p + h @ v.T + q, 0)
        found.append(h)
    return np.stack(found), None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_lstm_is_its_formula(dtype):
    layer = nn.LSTM(3, 5, dtype=getattr(tt, dtype))
    x = tt.randn(4, 2, 3, dtype=getattr(tt, dtype))
    output, (h, c) = layer(x)
    expected, cell = lstm_by_numpy(layer, x.numpy())
    np.testing.assert_allclose(output.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h[0].detach().numpy(), expected[-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c[0].detach().numpy(), cell, rtol=1e-5, atol=1e-6)


def test_a_gru_is_its_formula():
    layer, x = nn.GRU(3, 5, dtype=tt.float64), tt.randn(4, 2, 3, dtype=tt.float64)
    np.testing.assert_allclose(layer(x)[0].detach().numpy(), gru_by_numpy(layer, x.numpy())[0], rtol=1e-12)


def test_an_rnn_with_relu_is_its_formula():
    layer = nn.RNN(3, 5, nonlinearity="relu", dtype=tt.float64)
    x = tt.randn(4, 2, 3, dtype=tt.float64)
    np.testing.assert_allclose(layer(x)[0].detach().numpy(), rnn_by_numpy(layer, x.numpy())[0], rtol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_learns_by_backward(name):
    layer = getattr(nn, name)(3, 4, 2, bidirectional=True)
    layer(tt.randn(5, 2, 3))[0].sum().backward()
    for weight in layer.parameters():
        assert weight.grad.shape == weight.shape
        assert weight.grad.abs().max() > 0


@pytest.mark.parametrize("name", LAYERS)
def test_batch_first_and_unbatched_inputs_are_the_same_numbers(name):
    layer = getattr(nn, name)(3, 4, bidirectional=True)
    first = copy.deepcopy(layer)
    first.batch_first = True
    x = tt.randn(5, 2, 3)
    expected, last = layer(x)
    output, _ = first(x.transpose(0, 1))
    np.testing.assert_allclose(output.transpose(0, 1).detach().numpy(), expected.detach().numpy(), atol=1e-6)
    one, state = layer(x[:, 0])
    np.testing.assert_allclose(one.detach().numpy(), expected[:, 0].detach().numpy(), atol=1e-6)
    state, last = (state[0], last[0]) if name == "LSTM" else (state, last)
    np.testing.assert_allclose(state.detach().numpy(), last[:, 0].detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_packed_sequences_run_each_on_its_own(name):
    layer = getattr(nn, name)(3, 4, 2, bidirectional=True)
    sequences = [tt.randn(2, 3), tt.randn(5, 3), tt.randn(3, 3)]
    output, state = layer(pack_sequence(sequences, enforce_sorted=False))
    padded, lengths = pad_packed_sequence(output)
    state = state[0] if name == "LSTM" else state
    assert lengths.tolist() == [2, 5, 3]
    for k, sequence in enumerate(sequences):
        alone, last = layer(sequence)
        last = last[0] if name == "LSTM" else last
        np.testing.assert_allclose(
            padded[: len(sequence), k].detach().numpy(), alone.detach().numpy(), atol=1e-6
        )
        np.testing.assert_allclose(state[:, k].detach().numpy(), last.detach().numpy(), atol=1e-6)


def test_dropout_is_between_layers_and_in_training_only():
    layer = nn.LSTM(3, 4, 2, dropout=1.0)
    x, zeros = tt.randn(5, 2, 3), tt.zeros(5, 2, 4)
    second = nn.LSTM(4, 4)
    second.load_state_dict({k.replace("l1", "l0"): v for k, v in layer.state_dict().items() if "l1" in k})
    np.testing.assert_allclose(layer(x)[0].detach().numpy(), second(zeros)[0].detach().numpy(), atol=1e-6)
    layer.eval()
    assert not np.allclose(layer(x)[0].detach().numpy(), second(zeros)[0].detach().numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_half_precision_is_close_to_float(name, dtype):
    layer = getattr(nn, name)(3, 4).to(getattr(tt, dtype))
    x = tt.randn(5, 2, 3).to(getattr(tt, dtype))
    output = layer(x)[0]
    output.sum().backward()
    assert output.dtype is getattr(tt, dtype)
    assert layer.weight_hh_l0.grad.dtype is getattr(tt, dtype)
    expected = copy.deepcopy(layer).float()(x.float())[0]
    np.testing.assert_allclose(output.float().detach().numpy(), expected.detach().numpy(), atol=1e-2)


def test_parameters_are_named_and_bounded():
    layer = nn.LSTM(3, 100, 2, bidirectional=True, proj_size=7)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert list(shapes)[:6] == [
        "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0", "weight_ih_l0_reverse",
    ]  # fmt: skip
    assert shapes["weight_ih_l1"] == (400, 14)
    assert shapes["weight_hr_l0"] == (7, 100)
    assert all(p.abs().max().item() <= 0.1 for p in layer.parameters())
    assert len(layer.all_weights) == 4
    assert layer.all_weights[0][0] is layer.weight_ih_l0
    layer.flatten_parameters()


def test_a_replaced_parameter_is_used():
    layer, x = nn.GRU(2, 3), tt.randn(4, 1, 2)
    layer.weight_ih_l0 = nn.Parameter(tt.zeros(9, 2))
    layer.bias_ih_l0 = nn.Parameter(tt.zeros(9))
    assert layer.all_weights[0][0] is layer.weight_ih_l0
    np.testing.assert_allclose(layer(x)[0].detach().numpy(), layer(2 * x)[0].detach().numpy())


def test_weights_that_are_written_as_a_list_are_used_until_one_is_replaced():
    layer, x = nn.GRU(2, 3), tt.randn(4, 1, 2)
    before = layer(x)[0]
    layer._flat_weights = [2 * weight for weight in layer._flat_weights]
    assert layer.weight_ih_l0 is layer.all_weights[0][0]
    doubled = nn.GRU(2, 3)
    doubled.load_state_dict({name: 2 * weight for name, weight in layer.state_dict().items()})
    np.testing.assert_array_equal(layer(x)[0].detach().numpy(), doubled(x)[0].detach().numpy())
    layer.weight_hh_l0 = layer.weight_hh_l0
    assert layer._flat_weights[1] is layer.weight_hh_l0
    np.testing.assert_array_equal(layer.to(tt.float32)(x)[0].detach().numpy(), before.detach().numpy())


def test_copies_and_pickles_give_the_same_output():
    layer, x = nn.LSTM(2, 3, 2), tt.randn(4, 1, 2)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert (other(x)[0] == layer(x)[0]).all()


def test_representations_name_what_differs_from_defaults():
    assert repr(nn.RNN(3, 4, nonlinearity="relu")) == "RNN(3, 4)"
    layer = nn.LSTM(3, 4, 2, False, True, 0.5, True, 2)
    assert repr(layer) == (
        "LSTM(3, 4, proj_size=2, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)"
    )


def test_dropout_with_one_layer_warns():
    with pytest.warns(UserWarning, match="all but last recurrent layer"):
        nn.GRU(3, 4, dropout=0.5)


WRONG_LAYERS = [
    (lambda m: m.LSTM(3, 4, dropout=2.0), ValueError, "range"),
    (lambda m: m.LSTM(3, 4, dropout=True), ValueError, "range"),
    (lambda m: m.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
    (lambda m: m.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
    (lambda m: m.LSTM(3, 4.0), TypeError, "hidden_size should be of type int, got: float"),
    (lambda m: m.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller than hidden_size"),
    (lambda m: m.LSTM(3, 4, proj_size=-1), ValueError, "proj_size should be a positive integer"),
    (lambda m: m.GRU(3, 4, proj_size=1), ValueError, "only supported for LSTM"),
    (lambda m: m.RNN(3, 4, proj_size=1), ValueError, "only supported for LSTM"),
    (lambda m: m.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'"),
    (lambda m: m.RNN(3, 4, foo=1), TypeError, "foo"),
]
WRONG_INPUTS = [
    (lambda m, r: m.LSTM(3, 4)(r(2, 2, 2, 3)), ValueError, "LSTM: Expected input to be 2D or 3D, got 4D"),
    (lambda m, r: m.LSTM(3, 4)(r(5, 2, 4)), RuntimeError, "input_size. Expected 3, got 4"),
    (lambda m, r: m.LSTM(3, 4)(r(5, 2, 3).double()), ValueError, "does not match weight dtype"),
    (
        lambda m, r: m.LSTM(3, 4)(r(5, 2, 3), (r(1, 2, 4), r(1, 3, 4))),
        RuntimeError,
        r"Expected hidden\[1\] size",
    ),
    (
        lambda m, r: m.LSTM(3, 4)(r(5, 2, 3), (r(2, 2, 4), r(1, 2, 4))),
        RuntimeError,
        r"Expected hidden\[0\] size",
    ),
    (lambda m, r: m.LSTM(3, 4)(r(5, 2, 3), (r(2, 4), r(2, 4))), RuntimeError, "For batched 3-D input"),
    (lambda m, r: m.LSTM(3, 4)(r(5, 3), (r(1, 1, 4), r(1, 1, 4))), RuntimeError, "For unbatched 2-D input"),
    (lambda m, r: m.LSTM(3, 4)(r(0, 2, 3)), RuntimeError, "larger than 0 in RNN"),
    (lambda m, r: m.GRU(3, 4)(r(5, 2, 3), r(1, 3, 4)), RuntimeError, r"Expected hidden size \(1, 2, 4\)"),
    (lambda m, r: m.GRU(3, 4)(r(5, 2, 3), r(2, 4)), RuntimeError, "hx should also be 3-D but got 2-D"),
    (lambda m, r: m.GRU(3, 4)(r(5, 3), r(1, 1, 4)), RuntimeError, "hx should also be 2-D but got 3-D"),
    (lambda m, r: m.GRU(3, 4)(r(5, 2, 3), r(1, 2, 4).double()), RuntimeError, "same dtype"),
]


@pytest.mark.parametrize(("make", "error", "match"), WRONG_LAYERS)
def test_wrong_options_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make(nn)


@pytest.mark.parametrize(("call", "error", "match"), WRONG_INPUTS)
def test_wrong_inputs_are_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(nn, tt.randn)


def test_packed_inputs_of_other_features_are_refused():
    with pytest.raises(RuntimeError, match="Expected 3, got 4"):
        nn.LSTM(3, 4)(pack_sequence([tt.randn(2, 4)]))


# --- another backend -------------------------------------------------------------------------------------------


@pytest.fixture
def strict():
    with device(pytest.importorskip("array_api_strict"), "recurs"):
        yield tt.device("recurs")


@pytest.mark.parametrize("name", LAYERS)
def test_an_array_library_gives_the_cpus_numbers(strict, name):
    layer = getattr(nn, name)(3, 4, 2, bidirectional=True)
    there = copy.deepcopy(layer).to(strict)
    sequences = [tt.randn(2, 3), tt.randn(4, 3)]
    packed = pack_sequence(sequences, enforce_sorted=False)
    output, _ = layer(packed)
    other, _ = there(packed.to(strict))
    assert other.data.device == strict
    assert other.batch_sizes.device.type == "cpu"
    np.testing.assert_allclose(other.data.cpu().detach().numpy(), output.data.detach().numpy(), atol=1e-6)
    padded, lengths = pad_packed_sequence(other)
    assert lengths.tolist() == [2, 4]
    (padded * padded).sum().backward()
    (output.data * output.data).sum().backward()
    for p, q in zip(there.parameters(), layer.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.cpu().numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)


# --- against torch ---------------------------------------------------------------------------------------------

OPTIONS = [
    {}, {"num_layers": 2, "bias": False}, {"bidirectional": True, "batch_first": True},
    {"num_layers": 2, "bidirectional": True, "proj_size": 3}, {"nonlinearity": "relu", "num_layers": 2},
]  # fmt: skip


def pair(name, **options):
    """Return a layer of torch and one of tt with its weights."""
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, name)(4, 5, dtype=torch.float64, **options)
    ours = getattr(nn, name)(4, 5, dtype=tt.float64, **options)
    assert list(theirs.state_dict()) == list(ours.state_dict())
    ours.load_state_dict({k: tt.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    assert repr(theirs) == repr(ours)
    return torch, theirs, ours


def compare(ours, theirs, sums):
    """Compare results and, after backward, the gradients of parameters."""
    for a, b in sums:
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)
    sum(((a * a).sum() for a, _ in sums), start=0).backward()
    sum(((b * b).sum() for _, b in sums), start=0).backward()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_layers_are_torchs(name, options, packed):
    if ("proj_size" in options and name != "LSTM") or ("nonlinearity" in options and name != "RNN"):
        options = {k: v for k, v in options.items() if k not in ("proj_size", "nonlinearity")}
    torch, theirs, ours = pair(name, **options)
    x = (
        torch.randn(3, 6, 4, dtype=torch.float64)
        if options.get("batch_first")
        else torch.randn(6, 3, 4).double()
    )
    y = tt.from_numpy(x.numpy().copy())
    x.requires_grad_(), y.requires_grad_()
    if packed:
        lengths, first = [3, 6, 1], options.get("batch_first", False)
        x_in = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, first, enforce_sorted=False)
        y_in = pack_padded_sequence(y, lengths, first, enforce_sorted=False)
    else:
        x_in, y_in = x, y
    (a, s), (b, t) = ours(y_in), theirs(x_in)
    states = list(zip(s, t, strict=True)) if name == "LSTM" else [(s, t)]
    compare(ours, theirs, [(a.data, b.data) if packed else (a, b), *states])
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.torch
def test_errors_are_torchs():
    torch = pytest.importorskip("torch")
    for make, error, match in WRONG_LAYERS:
        with pytest.raises(error, match=match):
            make(torch.nn)
    for call, error, match in WRONG_INPUTS:
        with pytest.raises(error, match=match):
            call(torch.nn, torch.randn)


@pytest.mark.torch
def test_second_derivatives_are_torchs():
    for name in LAYERS:
        torch, theirs, ours = pair(name)
        x = torch.randn(3, 2, 4, dtype=torch.float64)
        y = tt.from_numpy(x.numpy().copy())
        found = []
        for lib, layer, value in ((torch, theirs, x), (tt, ours, y)):
            value.requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's LSTM of oneDNN
                output = layer(value)[0]
            (g,) = lib.autograd.grad((output * output).sum(), value, create_graph=True)
            (g * g).sum().backward()
            found.append([value.grad, *(p.grad for p in layer.parameters())])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-8, atol=1e-10)


def test_the_former_permutation_of_batches_warns_and_permutes():
    with pytest.warns(FutureWarning, match="index_select"):
        found = nn.modules.rnn.apply_permutation(tt.tensor([[1, 2, 3]]), tt.tensor([2, 0, 1]))
    assert found.tolist() == [[3, 1, 2]]
