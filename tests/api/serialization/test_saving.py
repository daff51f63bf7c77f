"""tt.save and tt.load against each other and against torch: what goes in comes out, in both libraries."""

from __future__ import annotations

import copy
import enum
import io
import math
import pickle
import warnings
from collections import Counter, OrderedDict

import pytest

import tt
from tt.library import ALL_DTYPES

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*beta state", "ignore:TypedStorage is deprecated"),
]

FORMS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


def through(obj, save, load, zipped=True, **options):
    file = io.BytesIO()
    save(obj, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return load(file, **options)


def from_torch(obj, zipped=True, **options):
    return through(obj, torch.save, tt.load, zipped, **options)


def to_torch(obj, zipped=True, **options):
    return through(obj, tt.save, torch.load, zipped, **options)


def again(obj, zipped=True, **options):
    return through(obj, tt.save, tt.load, zipped, **options)


# --- tensors -----------------------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype_travels_in_both_directions(dtype, zipped):
    theirs = getattr(torch, dtype.name)
    x = torch.tensor([[0, 1, 2], [3, 100, 224]]).to(theirs)
    mine = from_torch(x, zipped)
    assert (mine.dtype, mine.tolist()) == (dtype, x.tolist())
    for y in (mine, mine.t(), mine[1], mine[:, ::2]):
        back = to_torch(y, zipped)
        assert (back.dtype, back.tolist(), back.stride()) == (theirs, y.tolist(), y.stride())
        own = again(y, zipped)
        assert (own.dtype, own.tolist(), own.stride()) == (dtype, y.tolist(), y.stride())


@FORMS
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 1, 3), (1,) * 20])
def test_every_shape_travels_in_both_directions(shape, zipped):
    x = torch.rand(shape)
    assert from_torch(x, zipped).tolist() == x.tolist()
    back = to_torch(from_torch(x, zipped), zipped)
    assert back.shape == x.shape and torch.equal(back, x) and back.stride() == x.stride()


@FORMS
def test_views_share_memory_afterwards_and_no_memory_is_saved_twice(zipped):
    base = tt.arange(1000.0)
    saved = {
        "base": base,
        "part": base[10:20],
        "columns": base.view(10, 100).t(),
        "alias": base.detach(),
        "same": base,
    }
    file = io.BytesIO()
    tt.save(saved, file, _use_new_zipfile_serialization=zipped)
    assert len(file.getvalue()) < 4000 + 3000
    for load in (tt.load, torch.load):
        file.seek(0)
        found = load(file)
        found["part"][0] = -1
        assert found["base"][10] == -1 and found["columns"][10, 0] == -1 and found["alias"][10] == -1
        assert found["base"] is found["same"]
        assert not found["part"]._is_view()


@FORMS
def test_views_of_torch_share_memory(zipped):
    base = torch.arange(12.0)
    found = from_torch([base, base[3:], base.view(3, 4).t(), torch.nn.Parameter(base)], zipped)
    found[0][3] = 99
    assert found[1][0] == 99 and found[2][3, 0] == 99 and found[3][3] == 99


def test_an_expanded_and_an_overlapping_tensor_stay_small():
    x = tt.ones(1).expand(1000, 1000)
    file = io.BytesIO()
    tt.save([x, tt.arange(10).as_strided((4, 4), (1, 2))], file)
    assert len(file.getvalue()) < 3000
    file.seek(0)
    expanded, overlapping = torch.load(file)
    assert expanded.stride() == (0, 0) and overlapping.stride() == (1, 2)


def test_a_storage_that_is_read_as_several_dtypes_is_saved_once():
    x = tt.ones(4)
    file = io.BytesIO()
    tt.save([x, x.view(tt.int32), x.view(tt.uint8)], file)
    for load in (tt.load, torch.load):
        file.seek(0)
        found = load(file)
        found[1][0] = 0
        assert found[0].tolist() == [0, 1, 1, 1] and found[2].tolist()[:4] == [0] * 4


def test_gradients_are_required_as_before_and_history_stays_behind():
    leaf = tt.ones(2, requires_grad=True)
    found = to_torch({"leaf": leaf, "result": leaf * 2, "plain": leaf.detach()})
    assert [found[name].requires_grad for name in found] == [True, True, False]
    assert all(x.is_leaf for x in found.values())
    mine = from_torch(found)
    assert [mine[name].requires_grad for name in mine] == [True, True, False]


def test_memory_of_numpy_that_is_no_row_of_bytes_is_saved_by_its_values():
    import numpy as np

    array = np.arange(24.0).reshape(4, 6)
    for x in (tt.from_numpy(array[1:3, ::2]), tt.from_numpy(array.T), tt.from_numpy(array[2:])):
        assert to_torch(x).tolist() == x.tolist()


def test_parameters_and_buffers_keep_their_kind_and_attributes():
    p = tt.nn.Parameter(tt.ones(2), requires_grad=False)
    q = tt.nn.Parameter(tt.ones(2))
    q.note = {"frozen": True}
    x = tt.ones(1)
    x.unit = "m"
    saved = [p, q, tt.nn.Buffer(tt.zeros(2)), x]
    for found in (to_torch(saved), again(saved), from_torch(to_torch(saved))):
        kind = torch.nn.Parameter if isinstance(found[0], torch.Tensor) else tt.nn.Parameter
        assert isinstance(found[0], kind) and not found[0].requires_grad
        assert isinstance(found[1], kind) and found[1].requires_grad and found[1].note == {"frozen": True}
        assert isinstance(found[2], (torch.nn.Buffer, tt.nn.Buffer)) and found[2].persistent
        assert found[3].unit == "m"


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@FORMS
def test_sparse_tensors_travel_in_both_directions(layout, zipped):
    dense = torch.tensor([[0.0, 2, 0, 1], [3, 0, 0, 4]])
    block = (1, 2) if "bs" in layout else None
    x = dense.to_sparse(layout=getattr(torch, layout), **({"blocksize": block} if block else {}))
    mine = from_torch(x, zipped)
    assert str(mine.layout) == f"tt.{layout}" and mine.to_dense().tolist() == dense.tolist()
    back = to_torch(mine, zipped)
    assert back.layout == x.layout and torch.equal(back.to_dense(), dense)
    if layout == "sparse_coo":
        assert back.is_coalesced() and mine.is_coalesced()


def test_an_uncoalesced_sparse_tensor_stays_so():
    x = tt.sparse_coo_tensor(tt.tensor([[0, 0]]), tt.tensor([1.0, 2.0]), (3,), requires_grad=True)
    for found in (to_torch(x), again(x)):
        assert not found.is_coalesced() and found._nnz() == 2 and found.to_dense().tolist() == [3, 0, 0]


def test_meta_tensors_travel_in_both_directions():
    x = tt.empty_strided((3, 4), (1, 3), dtype=tt.int16, device="meta")
    found = to_torch(x)
    assert (found.device.type, found.shape, found.stride(), found.dtype) == (
        "meta",
        (3, 4),
        (1, 3),
        torch.int16,
    )
    assert from_torch(found).stride() == (1, 3)


def test_conjugates_that_torch_has_not_computed_yet_are_computed():
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert from_torch(x.conj()).tolist() == x.conj().tolist()
    assert from_torch(x.conj().imag).tolist() == x.conj().imag.tolist()


@FORMS
def test_storages_themselves_travel(zipped):
    found = again([tt.ones(3).untyped_storage(), tt.ones(3, dtype=tt.int16).storage()], zipped)
    assert found[0].nbytes() == 12
    assert found[1].tolist() == [1, 1, 1]
    theirs = from_torch([torch.ones(3).untyped_storage(), torch.ones(3).storage()], zipped)
    assert theirs[0].nbytes() == 12 and theirs[1].tolist() == [1, 1, 1]
    assert to_torch(tt.ones(3).storage(), zipped).tolist() == [1, 1, 1]


# --- everything else ---------------------------------------------------------------------------------------------

VALUES = {
    "numbers": [1, -5, 2**70, 1.5, math.inf, 1j, True, None],
    "texts": ["a", "ä", "", b"bytes", bytearray(b"array")],
    "containers": {
        "l": [1, (2, 3)],
        "t": ((), (1,)),
        "s": {1, 2},
        "o": OrderedDict(b=1, a=2),
        "c": Counter("aab"),
    },
    1: {None: 2, (1, "a"): 3},
}


@FORMS
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_values_and_containers_travel_in_both_directions(zipped, protocol):
    file = io.BytesIO()
    tt.save(VALUES, file, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    assert torch.load(file, weights_only=protocol == 2 and None) == VALUES
    file.seek(0)
    assert tt.load(file) == VALUES
    assert from_torch(VALUES, zipped) == VALUES


def test_objects_of_tt_become_those_of_torch_and_back():
    mine = [
        tt.float32,
        tt.uint16,
        tt.device("cpu"),
        tt.device("cuda:1"),
        tt.Size([2, 3]),
        tt.sparse_csr,
        tt.strided,
    ]
    theirs = [
        torch.float32, torch.uint16, torch.device("cpu"), torch.device("cuda:1"), torch.Size([2, 3]), torch.sparse_csr,
        torch.strided,
    ]  # fmt: skip
    assert to_torch(mine) == theirs and from_torch(theirs) == mine and again(mine) == mine
    assert type(from_torch(theirs)[4]) is tt.Size


def trained(library):
    library.manual_seed(0)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.Linear(4, 2))
    return model, library.optim


OPTIMIZERS = ["SGD", "AdamW", "RMSprop"]


@pytest.mark.parametrize("name", OPTIMIZERS)
@FORMS
def test_a_training_goes_on_in_the_other_library(name, zipped):
    def step(library, model, optimizer):
        x = library.arange(12.0).reshape(4, 3) / 10

        def closure():
            optimizer.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            return loss

        return float(optimizer.step(closure).detach())

    def make(library):
        model, optim = trained(library)
        options = {"lr": 0.05} | ({"momentum": 0.9} if name == "SGD" else {})
        return model, getattr(optim, name)(model.parameters(), **options)

    theirs, mine = make(torch), make(tt)
    for _ in range(2):
        step(torch, *theirs)
    state = from_torch({"model": theirs[0].state_dict(), "optimizer": theirs[1].state_dict()}, zipped)
    assert state["model"]._metadata == theirs[0].state_dict()._metadata
    mine[0].load_state_dict(state["model"])
    mine[1].load_state_dict(state["optimizer"])
    for _ in range(2):
        assert step(tt, *mine) == pytest.approx(step(torch, *theirs), rel=1e-3)
    back = to_torch({"model": mine[0].state_dict(), "optimizer": mine[1].state_dict()}, zipped)
    assert back["model"]._metadata == state["model"]._metadata
    fresh = make(torch)
    fresh[0].load_state_dict(back["model"])
    fresh[1].load_state_dict(back["optimizer"])
    assert step(torch, *fresh) == pytest.approx(step(tt, *mine), rel=1e-3)


def modules(library):
    nn = library.nn
    return [
        nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout(0.5), nn.LayerNorm(3)).eval(),
        nn.Sequential(nn.Conv1d(2, 2, 3), nn.BatchNorm1d(2), nn.MaxPool1d(2)).eval(),
        nn.ModuleDict({"a": nn.ModuleList([nn.Embedding(5, 2)]), "b": nn.PReLU()}),
        nn.GRU(4, 3).eval(),
        nn.MultiheadAttention(4, 2).eval(),
        nn.TransformerEncoderLayer(4, 2, 8).eval(),
    ]


INPUTS = [(2, 4), (1, 2, 9), None, (2, 1, 4), None, (3, 1, 4)]


@FORMS
@pytest.mark.parametrize("at", range(6))
def test_whole_modules_travel_with_weights_only_false(at, zipped):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sources that torch does not find
        theirs = modules(torch)[at]
        mine = from_torch(theirs, zipped, weights_only=False)
        back = to_torch(mine, zipped, weights_only=False)
        own = again(mine, zipped, weights_only=False)
    assert (
        type(mine).__module__.startswith("tt.nn") and type(back) is type(theirs) and type(own) is type(mine)
    )
    expected = {name: value.tolist() for name, value in theirs.state_dict().items()}
    for other in (mine, back, own):
        assert {name: value.tolist() for name, value in other.state_dict().items()} == expected
    if INPUTS[at]:
        x = torch.rand(INPUTS[at])
        results = [theirs(x), mine(tt.tensor(x.tolist())), back(x)]
        first = [r[0] if isinstance(r, tuple) else r for r in results]
        assert first[1].flatten().tolist() == pytest.approx(first[0].flatten().tolist(), abs=1e-5)
        assert torch.equal(first[2], first[0])


class Colour(enum.Enum):
    RED = 1


class Image(tt.Tensor):
    pass


class Config:
    def __init__(self):
        self.rate, self.weights = 0.5, tt.ones(2)


class Own(tt.Tensor):
    def __reduce_ex__(self, protocol):
        return _own, (self.tolist(),)


def _own(values):
    return tt.tensor(values).as_subclass(Own)


def test_classes_of_the_user_load_with_weights_only_false_or_when_they_are_allowed():
    image = tt.ones(2).as_subclass(Image)
    image.note = "of a cat"
    saved = [image, Config(), Colour.RED, tt.ones(2).as_subclass(Own)]
    with pytest.raises(tt.errors.UnsafeGlobalError):
        again(saved)
    for options in ({"weights_only": False}, {}):
        with tt.serialization.safe_globals([Image, Config, Colour, _own]):
            found = again(saved, **options)
        assert type(found[0]) is Image and found[0].note == "of a cat" and found[0].tolist() == [1, 1]
        assert found[1].rate == 0.5 and found[1].weights.tolist() == [1, 1]
        assert found[2] is Colour.RED
        assert type(found[3]) is Own and found[3].tolist() == [1, 1]


def test_pickle_modules_may_be_given():
    import sys
    import types

    used = []

    class Pickler(pickle.Pickler):
        def __init__(self, *args, **kwargs):
            used.append("Pickler")
            super().__init__(*args, **kwargs)

    class Unpickler(pickle.Unpickler):
        def __init__(self, *args, **kwargs):
            used.append("Unpickler")
            super().__init__(*args, **kwargs)

    module = types.ModuleType("mine")
    module.Pickler, module.Unpickler, module.dumps = Pickler, Unpickler, pickle.dumps
    file = io.BytesIO()
    tt.save([tt.ones(2)], file, pickle_module=module)
    file.seek(0)
    assert tt.load(file, pickle_module=module)[0].tolist() == [1, 1]
    assert used == ["Pickler", "Unpickler"]
    with pytest.raises(RuntimeError, match="pickle_module"):
        tt.load(file, pickle_module=module, weights_only=True)
    assert "mine" not in sys.modules


def test_a_text_that_looks_like_names_in_the_pickle_stays_as_it_is():
    text = "ctt.serialization.foreign_names\nN" + "0" * 32 + "torch _utils\nctorch\nTensor\n"
    assert again([text, tt.ones(1)])[0] == text
    assert to_torch([text, tt.ones(1)])[0] == text


def test_equal_contents_make_equal_files(tmp_path):
    files = []
    for _ in range(2):
        file = io.BytesIO()
        tt.save({"a": tt.ones(3), "b": [1, 2]}, file)
        files.append(file.getvalue())
    assert files[0] == files[1]


def test_names_of_files_and_paths_are_taken(tmp_path):
    path = tmp_path / "wörk.pt"
    for f in (path, str(path)):
        tt.save(tt.ones(2), f)
        assert tt.load(f).tolist() == torch.load(f).tolist() == [1, 1]
    with open(path, "rb") as file:
        assert tt.load(file).tolist() == [1, 1]


@FORMS
def test_files_at_a_position_are_read_from_there(zipped):
    file = io.BytesIO(b"header")
    file.seek(6)
    tt.save([1, tt.ones(2)], file, _use_new_zipfile_serialization=zipped)
    file.seek(6)
    assert tt.load(file)[1].tolist() == [1, 1]


def test_several_objects_of_the_old_format_follow_each_other():
    file = io.BytesIO()
    for value in (1, tt.ones(2), "end"):
        tt.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert tt.load(file) == 1 and tt.load(file).tolist() == [1, 1] and tt.load(file) == "end"


class Plain:
    """A file object that has the documented methods only."""

    def __init__(self, data=b""):
        self._file = io.BytesIO(data)

    def read(self, size=-1):
        return self._file.read(size)

    def write(self, data):
        self._file.write(bytes(data))

    def value(self):
        return self._file.getvalue()


def test_file_objects_that_cannot_seek_are_read_and_written():
    file = Plain()
    tt.save(tt.ones(2), file)
    assert torch.load(io.BytesIO(file.value())).tolist() == [1, 1]
    assert tt.load(Plain(file.value())).tolist() == [1, 1]


def test_arguments_that_are_wrong_say_so():
    with pytest.raises(AttributeError, match="path or a file object"):
        tt.save(1, 5)
    with pytest.raises(AttributeError, match="path or a file object"):
        tt.load(5)
    with pytest.raises(ValueError, match="pickle_protocol"):
        tt.save(1, io.BytesIO(), pickle_protocol=1)
    with pytest.raises(FileNotFoundError):
        tt.load("/there/is/none")
    with pytest.raises(ValueError, match="mmap"):
        tt.load(io.BytesIO(), mmap=True)
    with pytest.warns(UserWarning, match="pickle_load_args"):
        again(1, errors="strict")


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "quint4x2"])
def test_a_dtype_that_tt_does_not_have_is_named(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype == "quint4x2":
            x = torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint4x2)
        else:
            x = torch.ones(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
        with pytest.raises(tt.errors.UnsupportedError, match="dtype"):
            from_torch(x)


def test_a_copy_of_what_was_loaded_is_independent():
    found = again([tt.arange(4)])
    copied = copy.deepcopy(found)
    copied[0][0] = 9
    assert found[0][0] == 0


LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def sparse_of(lib, layout, gradient, parameter):
    options = {"blocksize": (2, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    x = lib.eye(4).to_sparse(layout=getattr(lib, layout), **options)
    return lib.nn.Parameter(x, requires_grad=gradient) if parameter else x.requires_grad_(gradient)


@pytest.mark.parametrize("parameter", [False, True])
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_keep_their_need_of_a_gradient(layout, gradient, parameter):
    x = sparse_of(tt, layout, gradient, parameter)
    file = io.BytesIO()
    tt.save(x, file)
    file.seek(0)
    y = tt.load(file)
    assert (y.requires_grad, y.is_leaf, y.layout, type(y)) == (gradient, True, x.layout, type(x))
    assert tt.equal(y.detach().to_dense(), x.detach().to_dense())


@pytest.mark.torch
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_with_a_gradient_go_to_pytorch_and_back(layout):
    torch = pytest.importorskip("torch")
    for one, other in ((tt, torch), (torch, tt)):
        file = io.BytesIO()
        one.save(sparse_of(one, layout, True, False), file)
        file.seek(0)
        y = other.load(file)
        # PyTorch loses it for the layout sparse_coo when it saves.
        assert y.requires_grad == (one is tt or layout != "sparse_coo")
