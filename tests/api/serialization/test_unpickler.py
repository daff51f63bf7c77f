"""The unpickler of `weights_only=True`: it reads its contents, and hostile pickles run nothing and take no memory."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import pickletools
import struct
import sys
import tracemalloc
from collections import Counter, OrderedDict
from enum import Enum
from functools import partial

import numpy as np
import pytest

import tt
from tests.api.serialization.archives import archive_of, legacy_of, storage_id, text

RAN = []


def canary(*args, **kwargs):
    """Note that a pickle ran it; no test allows that."""
    RAN.append(args)


HERE = __name__
CANARY = f"c{HERE}\ncanary\n".encode()
SYSTEM = b"cposix\nsystem\n"
P2 = b"\x80\x02"


class Reduced:
    def __reduce__(self):
        return canary, ("reduced",)


class ByState:
    def __setstate__(self, state):
        canary(state)


class OnDelete:
    def __del__(self):
        canary("deleted")


class ByName:
    def __reduce__(self):
        return getattr, (OrderedDict, "clear")


def tensor(size=b"K\x03\x85", stride=b"K\x01\x85", offset=b"K\x00", storage=None):
    body = storage_id() if storage is None else storage
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + body + offset + size + stride + b"\x89N" + b"tR"


def big(number):
    return b"\x8a\x10" + number.to_bytes(16, "little", signed=True)


HOSTILE = {
    "global": P2 + SYSTEM + b".",
    "global of builtins": P2 + b"c__builtin__\neval\n.",
    "global with dots": P2 + b"ctorch\n_utils.os.system\n.",
    "global of tt": P2 + b"ctt.core.errors\npickle.loads\n.",
    "reduce": P2 + SYSTEM + text("true") + b"\x85R.",
    "reduce of a canary": P2 + CANARY + b")R.",
    "reduce by getattr": pickle.dumps(ByName(), 2),
    "an object that reduces to a call": pickle.dumps(Reduced(), 2),
    "the same, of protocol 4": pickle.dumps(Reduced(), 4),
    "the same, of protocol 5, nested": pickle.dumps({"a": [(1, Reduced())]}, 5),
    "an object with a state": pickle.dumps(ByState(), 2) + b"",
    "an object with a finaliser": pickle.dumps(OnDelete(), 2),
    "inst": P2 + b"(" + text("true") + b"iposix\nsystem\n.",
    "inst of an allowed class": P2 + b"(icollections\nOrderedDict\n.",
    "obj": P2 + b"(" + SYSTEM + text("true") + b"o.",
    "obj of an allowed class": P2 + b"(ccollections\nOrderedDict\no.",
    "newobj": P2 + CANARY + b")\x81.",
    "newobj of a class": P2 + f"c{HERE}\nByState\n".encode() + b")\x81}b.",
    "newobj of a tensor": P2 + b"ctorch\nTensor\n" + b"K\x05\x85\x81.",
    "newobj_ex": P2 + SYSTEM + b")}\x92.",
    "ext1": P2 + b"\x82\x01.",
    "ext2": P2 + b"\x83\x01\x00.",
    "ext4": P2 + b"\x84\x01\x00\x00\x00.",
    "persid in text": P2 + b"P0\n.",
    "binpersid of a number": P2 + b"K\x01Q.",
    "binpersid of another kind": P2 + b"(" + text("module") + SYSTEM + b"NNtQ.",
    "newobj_ex of a class": b"\x80\x04" + f"c{HERE}\nByState\n".encode() + b")}\x92.",
    "binpersid with a callable for a type": P2
    + b"(" + text("storage") + b"ctorch\nSize\n" + text("0") * 2 + b"K\x03tQ.",
    "binpersid with a negative size": P2 + storage_id(count=-8) + b".",
    "binpersid of a record outside": P2 + storage_id(key="../../../etc/passwd") + b".",
    "stack_global": b"\x80\x04" + b"\x8c\x05posix\x8c\x06system\x93.",
    "stack_global of numbers": b"\x80\x04K\x01K\x02\x93.",
    "stack_global through the memo":
    b"\x80\x04\x8c\x05posix\x940\x8c\x06system\x940h\x00h\x01\x93" + text("true") + b"\x85R.",
    "build of a class": P2 + b"ctorch\nTensor\n}" + text("add") + b"K\x01sb.",
    "build of a function": P2 + b"ctorch._utils\n_rebuild_tensor_v2\n}" + text("__code__") + b"K\x01sb.",
    "build of a dtype": P2 + b"ctorch\nfloat32\n}" + text("itemsize") + b"K\x01sb.",
    "build of a storage type": P2 + b"ctorch\nFloatStorage\n}" + text("dtype") + b"K\x01sb.",
    "build of an OrderedDict's class": P2
    + b"ccollections\nOrderedDict\n)R}" + text("__class__") + b"K\x01sb.",
    "build of a dict": P2 + b"}}" + text("a") + b"K\x01sb.",
    "build of a tensor's class": P2 + tensor() + b"}" + text("__class__") + b"K\x01sb.",
    "build of a tensor by a tuple": P2 + tensor() + b"(N}" + text("_handle") + b"K\x01stb.",
    "a call of a dtype": P2 + b"ctorch\nfloat32\n)R.",
    "a call of a storage type": P2 + b"ctorch\nFloatStorage\n" + big(1 << 40) + b"\x85R.",
    "a call of the class of tensors": P2 + b"ctorch\nTensor\n" + big(1 << 40) + b"\x85R.",
    "a call of the result of a call": P2 + b"ccollections\nOrderedDict\n)R)R.",
    "a call of a type by name": P2
    + b"ctorch._tensor\n_rebuild_from_type_v2\n(" + SYSTEM + b"ctorch\nTensor\n))tR.",
    "a call with a type that is none": P2
    + b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch.nn.parameter\nParameter\nK\x01))tR.",
    "a call with names for arguments": P2 + b"ccollections\nOrderedDict\n}R.",
    "a bytearray of a number": P2 + b"c__builtin__\nbytearray\n" + big(1 << 42) + b"\x85R.",
    "bytes of a number": P2 + b"c__builtin__\nbytes\n" + big(1 << 42) + b"\x85R.",
    "an encoding that unpacks": P2 + b"c_codecs\nencode\n" + text("x") + text("bz2") + b"\x86R.",
    "a tensor beyond its storage": P2 + tensor(size=b"K\x04\x85") + b".",
    "a tensor of terabytes": P2 + tensor(size=big(1 << 40) + b"\x85") + b".",
    "a tensor of more bytes than there are": P2 + tensor(size=big(1 << 62) + b"\x85") + b".",
    "a tensor of a huge stride": P2 + tensor(stride=big(1 << 62) + b"\x85") + b".",
    "a tensor of a negative stride": P2 + tensor(stride=big(-1) + b"\x85") + b".",
    "a tensor at a negative offset": P2 + tensor(offset=big(-1)) + b".",
    "a tensor at a huge offset": P2 + tensor(offset=big(1 << 61)) + b".",
    "a tensor of a negative size": P2 + tensor(size=big(-3) + b"\x85") + b".",
    "a tensor of a size in text": P2 + tensor(size=text("33") + b"\x85") + b".",
    "a tensor with more strides than sizes": P2 + tensor(stride=b"K\x01K\x01\x86") + b".",
    "a tensor of a thousand dimensions": P2
    + tensor(size=b"(" + b"K\x01" * 1000 + b"t", stride=b"(" + b"K\x01" * 1000 + b"t") + b".",
    "a storage that is a list": P2 + tensor(storage=b"]") + b".",
    "a storage of a terabyte": P2 + tensor(storage=storage_id(count=1 << 38)) + b".",
    "a storage of 2**64 bytes": P2 + tensor(storage=storage_id(count=1 << 62)) + b".",
    "a storage with another dtype": P2 + tensor(storage=storage_id("DoubleStorage")) + b".",
    "a storage that is not there": P2 + tensor(storage=storage_id(key="7")) + b".",
    "a text of 4 GB": P2 + b"X\xff\xff\xff\xffabc.",
    "a text of 2**63 bytes": b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7fabc.",
    "bytes of 2**62": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x3fabc.",
    "a bytearray of 2**62": b"\x80\x05\x96" + b"\xff" * 7 + b"\x3fabc.",
    "a number of 2 GB": P2 + b"\x8b\xff\xff\xff\x7f.",
    "a memo that is not there": P2 + b"h\x07.",
    "a memo of 2**32 places that is read elsewhere": P2 + b"Nr\xff\xff\xff\xff0j\xff\xff\xff\xfe.",
    "a buffer from outside": b"\x80\x05\x97.",
    "a mark that is not there": P2 + b"t.",
    "nothing to pop": P2 + b"000.",
    "no end": P2 + b"NNN",
    "two values": P2 + b"NN.",
    "a mark that stays": P2 + b"(N.",
    "a key without a value": P2 + b"}(" + text("a") + b"u.",
    "a key that is a list": P2 + b"}]Ns.",
    "items of a text": P2 + text("a") + b"NNs.",
    "appending to a tuple": P2 + b")Na.",
    "appending to a tensor": P2 + tensor() + b"Na.",
    "adding to a list": b"\x80\x04](N\x90.",
    "a protocol of the future": b"\x80\x09N.",
    "a key nested 200000 times": P2 + b"}" + b")" + b"\x85" * 200_000 + b"Ns.",
    "a key of 2**60 parts": P2 + b"})" + b"q\x00h\x00\x86" * 60 + b"Ns.",
    "a set of 2**60 parts": P2 + b"c__builtin__\nset\n])" + b"q\x00h\x00\x86" * 60 + b"a\x85R.",
    "a frozenset of 2**60 parts": b"\x80\x04()" + b"q\x00h\x00\x86" * 60 + b"\x91.",
    "pairs of an OrderedDict of 2**60 parts": P2
    + b"ccollections\nOrderedDict\n])" + b"q\x00h\x00\x86" * 60 + b"N\x86a\x85R.",
    "a sparse tensor with an index outside": None,
    "a layout that is none": P2 + b"ctorch.serialization\n_get_layout\n" + text("torch.os") + b"\x85R.",
    "a device that is none": P2 + b"ctorch\ndevice\n" + text("../x") + b"\x85R.",
    "a meta tensor of 2**200 elements": P2
    + b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n"
    + b"\x8a\x20" + (1 << 200).to_bytes(32, "little") + b"\x85K\x01\x85\x89tR.",
    "a subclass that is not a class of tensors": P2
    + b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nccollections\nOrderedDict\n("
    + storage_id() + b"K\x00K\x03\x85K\x01\x85\x89Nt}tR.",
    "attributes that are special": P2
    + b"ctorch._utils\n_rebuild_parameter_with_state\n(" + tensor() + b"\x88N}" + text("__class__") + b"NstR.",
}  # fmt: skip


def coo(index):
    """Return the pickle of a sparse vector of three places with one value at an index."""
    indices = tensor(
        size=b"K\x01K\x01\x86", stride=b"K\x01K\x01\x86", storage=storage_id("LongStorage", "1", count=1)
    )
    layout = b"ctorch.serialization\n_get_layout\n" + text("torch.sparse_coo") + b"\x85R"
    values = tensor(size=b"K\x01\x85")
    size = b"ctorch\nSize\nK\x03\x85\x85R"
    pkl = (
        P2
        + b"ctorch._utils\n_rebuild_sparse_tensor\n"
        + layout
        + b"("
        + indices
        + values
        + size
        + b"\x89t\x86R."
    )
    return pkl, {"data/0": np.ones(3, "f4").tobytes(), "data/1": struct.pack("<q", index)}


def load(data, **options):
    return tt.load(io.BytesIO(data), **options)


@pytest.fixture(autouse=True)
def nothing_runs():
    RAN.clear()
    before = set(sys.modules)
    yield
    assert RAN == []
    assert not {"posix_", "os.system"} & (set(sys.modules) - before)


@pytest.mark.parametrize("wrapped", [archive_of, legacy_of], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_without_running_anything_or_taking_memory(name, wrapped):
    pkl, records = coo(7) if HOSTILE[name] is None else (HOSTILE[name], {"data/0": bytes(12)})
    if wrapped is archive_of:
        data = archive_of(pkl, records)
    else:
        stored = [
            struct.pack("<q", len(raw) // (8 if name == "data/1" else 4)) + raw
            for name, raw in records.items()
        ]
        data = legacy_of(pkl, [name.removeprefix("data/") for name in records], b"".join(stored))
    tracemalloc.start()
    try:
        with pytest.raises((tt.errors.TTError, pickle.UnpicklingError)) as caught:
            load(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, tt.errors.TTError)
    assert peak < 60 * len(data) + (8 << 20)


def test_there_are_as_many_hostile_pickles_as_was_promised():
    assert len(HOSTILE) >= 60


def test_the_pickles_that_run_code_would_run_it_with_weights_only_false():
    load(archive_of(pickle.dumps(Reduced(), 2)), weights_only=False)
    assert RAN.pop() == ("reduced",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, 255, 65535, -1, 2**31, -(2**40), 10**300, 1.5, float("inf"), "text", "ä€\ud800",
        "x" * 300, b"", b"bytes" * 100, bytearray(b"abc"), [], [1, [2]], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {},
        {"a": {1: (2,)}},
        {1, 2}, frozenset({3}), set(), 1j, OrderedDict(a=1, b=[2]), Counter("aab"), list(range(3000)),
        {i: str(i) for i in range(3000)},
    ],
    ids=lambda value: repr(value)[:25].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_data_comes_back_whatever_the_protocol(value, protocol):
    found = load(archive_of(pickle.dumps(value, protocol)))
    assert found == value and type(found) is type(value)


def test_what_is_shared_or_contains_itself_stays_so():
    inner = [1]
    loop = [inner, inner]
    loop.append(loop)
    found = load(archive_of(pickle.dumps(loop, 2)))
    assert found[0] is found[1] and found[2] is found


def test_attributes_of_an_ordered_dict_come_back():
    state = OrderedDict(a=1)
    state._metadata = {"": {"version": 1}}
    assert load(archive_of(pickle.dumps(state, 2)))._metadata == {"": {"version": 1}}


def test_a_message_names_what_was_refused_and_how_to_allow_it():
    with pytest.raises(tt.errors.UnsafeGlobalError, match="add_safe_globals") as caught:
        load(archive_of(pickle.dumps(ByState(), 2)))
    assert caught.value.name == f"{HERE}.ByState"
    assert caught.value.path == "<file object>"
    with pytest.raises(tt.errors.UnsafeGlobalError, match="makes an object of"):
        load(archive_of(HOSTILE["inst"]))


def test_truncated_at_any_byte_a_pickle_is_refused():
    pkl = pickle.dumps({"a": [1, 2.5, "text", (1, 2)], "b": OrderedDict(c={1, 2})}, 2)
    for end in range(len(pkl)):
        with pytest.raises(tt.errors.CorruptFileError):
            load(archive_of(pkl[:end]))


def test_any_bytes_load_or_are_refused():
    codes = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
    random = np.random.default_rng(17)
    parts = [*codes, b"torch\nSize\n", text("a"), b"\x01", b"\x00", b"\xff", tensor(), CANARY, SYSTEM]
    for _ in range(3000):
        chosen = random.integers(len(parts), size=random.integers(1, 30))
        pkl = P2 + b"".join(parts[i] for i in chosen) + b"."
        with contextlib.suppress(tt.errors.TTError):
            load(archive_of(pkl, {"data/0": bytes(12)}))


def test_texts_of_python_2_are_decoded_as_asked():
    pkl = P2 + b"U\x02\xc3\xa4."
    assert load(archive_of(pkl)) == "ä"
    assert load(archive_of(pkl), encoding="latin1") == "Ã¤"
    assert load(archive_of(pkl), encoding="bytes") == b"\xc3\xa4"


# --- what users allow --------------------------------------------------------------------------------------------


class Point:
    def __init__(self, x=0):
        self.x = x


class Slotted:
    __slots__ = ("x",)


@pytest.fixture(autouse=True)
def nothing_stays_allowed():
    yield
    tt.serialization.clear_safe_globals()


def test_what_is_allowed_is_read_until_it_is_taken_back():
    slotted = Slotted()
    slotted.x = Point(5)
    data = archive_of(pickle.dumps([Point(3), slotted], 2))
    with pytest.raises(tt.errors.UnsafeGlobalError):
        load(data)
    tt.serialization.add_safe_globals([Point])
    with pytest.raises(tt.errors.UnsafeGlobalError, match="Slotted"):
        load(data)
    with tt.serialization.safe_globals([Slotted]):
        assert tt.serialization.get_safe_globals() == [Point, Slotted]
        found = load(data)
        assert (found[0].x, found[1].x.x) == (3, 5)
    assert tt.serialization.get_safe_globals() == [Point]
    tt.serialization.clear_safe_globals()
    with pytest.raises(tt.errors.UnsafeGlobalError):
        load(data)


def test_a_class_may_be_allowed_under_the_name_that_a_file_has_for_it():
    data = archive_of(P2 + b"cold.place\nPoint\n)\x81}" + text("x") + b"K\x07sb.")
    with pytest.raises(tt.errors.UnsafeGlobalError, match=r"old\.place\.Point"):
        load(data)
    with tt.serialization.safe_globals([(Point, "old.place.Point")]):
        assert load(data).x == 7


def test_only_classes_and_functions_can_be_allowed():
    for wrong in ("Point", (Point,), (Point, 5), 7):
        with pytest.raises(TypeError, match="safe global"):
            tt.serialization.add_safe_globals([Point, wrong])
    assert tt.serialization.get_safe_globals() == []


def test_what_is_allowed_may_not_be_replaced_by_the_file():
    hostile = P2 + f"c{HERE}\nPoint\n".encode() + b"}" + text("x") + b"K\x01sb."
    with tt.serialization.safe_globals([Point]), pytest.raises(tt.errors.UnsafeGlobalError):
        load(archive_of(hostile))


@pytest.mark.parametrize("protocol", [2, 4])
def test_unsafe_globals_are_listed_without_running_anything(protocol, tmp_path):
    path = tmp_path / "file.pt"
    path.write_bytes(
        archive_of(pickle.dumps({"a": Reduced(), "b": [Point(), Point(), tt.Size([1])]}, protocol))
    )
    expected = sorted([f"{HERE}.canary", f"{HERE}.Point", "tt.core.types.size.Size"])
    assert tt.serialization.get_unsafe_globals_in_checkpoint(path) == expected
    with tt.serialization.safe_globals([Point]):
        assert f"{HERE}.Point" not in tt.serialization.get_unsafe_globals_in_checkpoint(path)
    fine = io.BytesIO()
    tt.save([tt.ones(2), tt.nn.Parameter(tt.ones(1)), tt.float32, tt.Size([1]), {1, 2}], fine)
    fine.seek(0)
    assert tt.serialization.get_unsafe_globals_in_checkpoint(fine) == []
    with pytest.raises(tt.errors.CorruptFileError):
        tt.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(archive_of(P2 + b"\xff.")))


@pytest.mark.parametrize("module", ["copy_reg", "copyreg"])
@pytest.mark.parametrize("stacked", [False, True])
def test_names_of_python_2_are_listed_as_loading_checks_them(module, stacked):
    short = lambda value: b"\x8c" + bytes([len(value)]) + value.encode()  # noqa: E731 - SHORT_BINUNICODE
    name = short(module) + short("pickle") + b"\x93" if stacked else f"c{module}\npickle\n".encode()
    data = archive_of(b"\x80\x04" + name + b".")
    assert tt.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == ["copyreg.pickle"]
    with pytest.raises(tt.errors.UnsafeGlobalError, match=r"copyreg\.pickle"):
        load(data)


# --- what no list can allow --------------------------------------------------------------------------------------


class Calls:
    """Reduces to a call, which the file then makes."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


BLOCKED = [
    (os.execv, ("/bin/true", ["true"]), "posix"), (os.system, ("true",), "posix"), (os.popen, ("true",), "os"),
    (sys.exit, (1,), "sys"), (eval, ("canary()",), "builtins"), (exec, ("canary()",), "builtins"),
    (compile, ("1", "name", "eval"), "builtins"), (__import__, ("os",), "builtins"),
    (setattr, (1, "a", 2), "builtins"), (vars, (), "builtins"), (globals, (), "builtins"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "module"), BLOCKED, ids=[f.__qualname__ for f, _, _ in BLOCKED])
@pytest.mark.parametrize("protocol", [2, 4])
def test_what_runs_code_is_refused_whatever_the_list_says(function, args, module, protocol):
    data = archive_of(pickle.dumps(Calls(function, *args), protocol))
    with tt.serialization.safe_globals([function]):
        with pytest.raises(tt.errors.UnsafeGlobalError, match=f"module {module} is blocked") as caught:
            load(data)
        assert caught.value.blocked == module
        expected = [f"{function.__module__}.{function.__qualname__}"]
        assert tt.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == expected


@pytest.mark.parametrize(
    "value", [os.system, eval, open, partial(os.system), partial(partial(eval, "1"))], ids=repr
)
def test_what_runs_code_is_refused_under_another_name(value):
    data = archive_of(P2 + b"charmless\nname\n" + text("true") + b"\x85R.")
    with (
        tt.serialization.safe_globals([(value, "harmless.name")]),
        pytest.raises(tt.errors.UnsafeGlobalError, match="blocked"),
    ):
        load(data)


def test_getattr_gives_members_of_enumerations_but_nothing_private():
    member = archive_of(pickle.dumps(Calls(getattr, Colour, "RED"), 2))
    special = archive_of(pickle.dumps(Calls(getattr, Colour, "__init__"), 2))
    with tt.serialization.safe_globals([getattr, Colour]):
        assert load(member) is Colour.RED
        with pytest.raises(tt.errors.UnsafeGlobalError, match="__init__"):
            load(special)


class Colour(Enum):
    RED = 1
