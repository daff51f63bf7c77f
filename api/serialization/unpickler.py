"""An interpreter of pickles that runs allowed functions only.

It supports the instructions that data needs, of protocols 2 to 5, and looks up every class and function in a table.
Memory is taken only for the pickle's own contents, and nothing here recurses, so a hostile pickle can neither
exhaust memory nor the stack.
"""

from __future__ import annotations

import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import tt
from tt.errors import CorruptFileError, TTError, UnsafeGlobalError, UnsupportedError
from tt.serialization import allow_list
from tt.serialization.locations import UserCodeError
from tt.serialization.names import DTYPE_NAMES, QSCHEME_NAMES, STORAGE_TYPES, TENSOR_TYPES, UNKNOWN_DTYPES
from tt.serialization.rebuilding import Ignored, Rebuilder, hashable

__all__ = ["ScanningUnpickler", "WeightsUnpickler", "builtin_name"]

_MARK = object()
_DICTS = (dict, OrderedDict, Counter)


class _EndError(Exception):
    """The pickle is at its end."""


def builtin_name(module: str, name: str) -> str:
    """Return the full name of a global, by its name of Python 3."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"


class WeightsUnpickler:
    """Reads one pickle of tensors and containers.

    Parameters
    ----------
    data : bytes or mmap
        What holds the pickle.
    position : int
        Where it begins.
    path : str
        The file, for messages.
    rebuilder : Rebuilder
        What makes tensors.
    persistent_load : callable
        Returns what an id stands for: the storages.
    encoding : str
        Of texts that Python 2 wrote.
    """

    def __init__(
        self,
        data: bytes,
        position: int,
        path: str,
        rebuilder: Rebuilder,
        persistent_load: Callable[[Any], Any],
        encoding: str = "utf-8",
    ) -> None:
        self._data, self.position, self._path = data, position, path
        self._rebuilder, self._persistent_load, self._encoding = rebuilder, persistent_load, encoding
        self._functions = rebuilder.functions()
        # By identity: `==` would run code of an object that the file has made.
        self._callable = {id(function): function for function in self._functions.values()}
        self._user = {
            # `getattr` leads from any object to all of Python by names such as `__globals__`.
            name: self.public_attribute if value is getattr else value
            for name, value in allow_list.allowed().items()
        }
        # Not even what the user allowed: a file could otherwise run any code.
        self._user_callable = {
            id(value) for name, value in self._user.items() if allow_list.blocked_module(name, value) is None
        }
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """Return the object."""
        data, table = self._data, _TABLE
        try:
            while True:
                code = data[self.position]
                self.position += 1
                handler = table[code]
                if handler is None:
                    raise self._corrupt(f"the instruction 0x{code:02x}, which data does not need")
                handler(self)
        # An exception ends the loop, so no instruction is compared with the last one.
        except _EndError:
            return self._stack.pop()
        # These say already what is wrong, or are no fault of the file.
        except (TTError, UserCodeError, OSError, MemoryError):
            raise
        except RecursionError as error:
            raise self._corrupt("it nests too deeply") from error
        except Exception as error:  # of any damaged pickle
            raise self._corrupt(f"{type(error).__name__} at byte {self.position}: {error}") from error

    def _corrupt(self, problem: str) -> CorruptFileError:
        return CorruptFileError(self._path, f"its pickle is damaged or hostile: {problem}")

    # --- reading ---------------------------------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        """Return the next bytes, all of which must be there."""
        start = self.position
        # A slice longer than the data takes no more than there is; but its bounds must fit in a machine
        # word.
        taken = bytes(self._data[start : start + count]) if count < 1 << 40 else b""
        if len(taken) != count:
            raise self._corrupt("it is cut off")
        self.position = start + count
        return taken

    def number(self, form: str, size: int) -> Any:
        """Return the next number of a format of `struct`."""
        return struct.unpack(form, self.take(size))[0]

    def line(self) -> str:
        """Return the next line."""
        # No name is that long, and a damaged file is not searched to its end.
        end = self._data.find(b"\n", self.position, self.position + 1000)
        if end < 0:
            raise self._corrupt("a name has no end")
        text = self.take(end - self.position).decode()
        self.position += 1
        return text

    # --- the stack -------------------------------------------------------------------------------------------

    def push(self, value: object) -> None:
        """Put a value on the stack."""
        self._stack.append(value)

    def pop(self) -> Any:
        """Take the value from the top of the stack."""
        return self._stack.pop()

    def since_mark(self) -> list[Any]:
        """Return the values after the last mark, and forget it."""
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def mark(self) -> None:
        """Put a mark on the stack."""
        # As CPython does: a stack of stacks instead of marks among the values.
        self._marks.append(self._stack)
        self._stack = []

    # --- allowed names ------------------------------------------------------------------------------------

    def find(self, module: str, name: str) -> None:
        """Put the object of a name on the stack."""
        full = builtin_name(module, name)
        if blocked := allow_list.blocked_module(full, self._user.get(full)):
            raise UnsafeGlobalError(full, self._path, blocked=blocked)
        if full in self._user:
            self.push(self._user[full])
        elif full in self._functions:
            self.push(self._functions[full])
        elif full in DTYPE_NAMES:
            self.push(DTYPE_NAMES[full])
        elif full in QSCHEME_NAMES:
            self.push(getattr(tt, name))
        elif full in STORAGE_TYPES:
            self.push(STORAGE_TYPES[full])
        elif full in TENSOR_TYPES:
            self.push(tt.Tensor)
        elif module in ("torch", "torch.cuda") and name in UNKNOWN_DTYPES:
            raise UnsupportedError(f"{self._path} holds tensors of {full}, a dtype that tt does not have")
        else:
            raise UnsafeGlobalError(full, self._path)

    def reduce(self) -> None:
        """Call a function."""
        # The function may be any value that the file has put on the stack, so it is checked again here.
        args, function = self.pop(), self.pop()
        if not isinstance(args, tuple):
            raise self._corrupt("the arguments of a call are not a tuple")
        if self._is_allowed(function):
            self.push(function(*args))
            return
        name = getattr(function, "__qualname__", type(function).__name__)
        raise UnsafeGlobalError(f"{getattr(function, '__module__', '')}.{name}", self._path, "calls")

    def public_attribute(self, value: Any, name: str, *default: Any) -> Any:
        """Return an attribute, as `getattr` does where the user allowed it.

        Members of enumerations are saved as calls of `getattr`.  By special names a file could reach the globals of a
        function and replace code.
        """
        if type(name) is not str or name.startswith("_"):
            raise UnsafeGlobalError(f"getattr(..., {name!r})", self._path, blocked="builtins")
        return getattr(value, name, *default)

    def _is_allowed(self, function: object) -> bool:
        return id(function) in self._callable or id(function) in self._user_callable

    def new_object(self) -> None:
        """Make an object of a class."""
        args, kind = self.pop(), self.pop()
        if id(kind) in self._callable:  # of OrderedDict and the like, whose functions check the arguments
            self.push(kind(*args))
        elif id(kind) in self._user_callable and isinstance(kind, type) and isinstance(args, tuple):
            # Without `__init__`, as pickle does.
            self.push(kind.__new__(kind, *args))
        else:
            name = getattr(kind, "__qualname__", type(kind).__name__)
            raise UnsafeGlobalError(
                f"{getattr(kind, '__module__', '')}.{name}", self._path, "makes an object of"
            )

    def build(self) -> None:
        """Set the attributes of an object."""
        state, instance = self.pop(), self._stack[-1]
        kind = type(instance)
        if id(kind) in self._user_callable:
            _set_state(instance, state)
        elif kind is OrderedDict:
            if not isinstance(state, dict) or any(
                type(name) is not str or name[:2] == "__" for name in state
            ):
                raise self._corrupt("the attributes of an OrderedDict are not a dict of names")
            instance.__dict__.update(state)
        elif kind is Ignored:
            pass
        elif isinstance(instance, tt.Tensor):
            self._rebuilder.set_attributes(instance, state)
        else:
            raise UnsafeGlobalError(
                f"{kind.__module__}.{kind.__qualname__}", self._path, "sets attributes of"
            )

    def persistent(self) -> None:
        """Put a storage on the stack."""
        self.push(self._persistent_load(self.pop()))

    # --- containers ------------------------------------------------------------------------------------------

    def set_items(self, items: list[Any]) -> None:
        """Add keys and values to the dict on the stack."""
        table = self._stack[-1]
        if type(table) not in _DICTS and id(type(table)) not in self._user_callable:
            raise self._corrupt(f"keys are set in a {type(table).__name__}")
        if len(items) % 2:
            raise self._corrupt("a key has no value")
        for at in range(0, len(items), 2):
            table[hashable(self._path, items[at])] = items[at + 1]

    def append_items(self, items: list[Any]) -> None:
        """Add values to the list on the stack."""
        values = self._stack[-1]
        if type(values) is list:
            values.extend(items)
        # `append` of a class that the user allowed; `extend` may do something else.
        elif id(type(values)) in self._user_callable:
            for item in items:
                values.append(item)
        else:
            raise self._corrupt(f"values are appended to a {type(values).__name__}")

    def add_items(self, items: list[Any]) -> None:
        """Add values to the set on the stack."""
        if type(self._stack[-1]) is not set:
            raise self._corrupt("values are added to something that is not a set")
        self._stack[-1].update([hashable(self._path, item) for item in items])

    def new_set(self) -> None:
        """Make a frozenset."""
        self.push(self._rebuilder.new_frozenset(self.since_mark()))

    def put(self, at: int) -> None:
        """Remember the value on top."""
        self._memo[at] = self._stack[-1]

    def get(self, at: int) -> None:
        """Put a remembered value on the stack."""
        self.push(self._memo[at])

    def memoize(self) -> None:
        """Remember the value on top under the next number."""
        self._memo[len(self._memo)] = self._stack[-1]

    def protocol(self) -> None:
        """Check the version of the format."""
        if (version := self.take(1)[0]) > 5:
            raise self._corrupt(f"its protocol is {version}, and 5 the highest there is")

    def stop(self) -> None:
        """End."""
        # CPython takes the last value and ignores the others.
        if len(self._stack) != 1 or self._marks:
            raise self._corrupt("it ends with more than one value")
        raise _EndError

    def stack_global(self) -> None:
        """Put what two names on the stack stand for there."""
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise self._corrupt("a name is not a string")
        self.find(module, name)

    def inst(self) -> None:
        """Refuse the oldest way to make an object."""
        module, name = self.line(), self.line()
        raise UnsafeGlobalError(builtin_name(module, name), self._path, "makes an object of")

    def new_object_ex(self) -> None:
        """Refuse to make an object with named arguments."""
        raise UnsafeGlobalError("a class", self._path, "makes an object, with named arguments, of")

    def text(self, size: int) -> None:
        """Put a text of Python 2 on the stack."""
        data = self.take(size)
        self.push(data if self._encoding == "bytes" else data.decode(self._encoding))


class _Inert:
    """A stand-in for an object that a scanned pickle would have named or made."""


class ScanningUnpickler(WeightsUnpickler):
    """Goes through a pickle, whatever it holds, and calls `persistent_load` for its storages; makes nothing else."""

    def find(self, module: str, name: str) -> None:
        """Put the type of a storage on the stack, or something that stands for anything."""
        # The types of storages alone, which the ids of storages need.
        self.push(STORAGE_TYPES.get(f"{module}.{name}") or _Inert())

    def reduce(self) -> None:
        """Call nothing."""
        self.pop()
        self._stack[-1] = _Inert()

    new_object = reduce

    def new_object_ex(self) -> None:
        """Make nothing."""
        self.pop()
        self.reduce()

    def build(self) -> None:
        """Set nothing."""
        self.pop()

    def inst(self) -> None:
        """Make nothing."""
        self.line()
        self.line()
        self.since_mark()
        self.push(_Inert())

    def set_items(self, items: list[Any]) -> None:
        """Keep no items: keys may be anything."""

    append_items = add_items = set_items

    def new_set(self) -> None:
        """Make no set of what may be anything."""
        self.since_mark()
        self.push(_Inert())


def _set_state(made: Any, state: Any) -> None:
    """Set the state of an object of a class that the user allowed, as pickle does."""
    setter = getattr(made, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


Handler = Callable[[WeightsUnpickler], Any]
_INSTRUCTIONS: Mapping[bytes, Handler] = {
    b"\x80": WeightsUnpickler.protocol,
    b"\x95": lambda u: u.take(8),  # the length of a frame
    b".": WeightsUnpickler.stop,
    b"(": WeightsUnpickler.mark,
    # As in CPython, it takes a mark where nothing lies above it.
    b"0": lambda u: u._stack.pop() if u._stack else u.since_mark(),
    b"1": WeightsUnpickler.since_mark,
    # constants
    b"N": lambda u: u.push(None),
    b"\x88": lambda u: u.push(True),
    b"\x89": lambda u: u.push(False),
    b"K": lambda u: u.push(u.take(1)[0]),
    b"M": lambda u: u.push(u.number("<H", 2)),
    b"J": lambda u: u.push(u.number("<i", 4)),
    b"G": lambda u: u.push(u.number(">d", 8)),
    b"\x8a": lambda u: u.push(int.from_bytes(u.take(u.take(1)[0]), "little", signed=True)),
    b"\x8b": lambda u: u.push(int.from_bytes(u.take(u.number("<I", 4)), "little", signed=True)),
    # texts and bytes
    b"X": lambda u: u.push(u.take(u.number("<I", 4)).decode("utf-8", "surrogatepass")),
    b"\x8c": lambda u: u.push(u.take(u.take(1)[0]).decode("utf-8", "surrogatepass")),
    b"\x8d": lambda u: u.push(u.take(u.number("<Q", 8)).decode("utf-8", "surrogatepass")),
    b"U": lambda u: u.text(u.take(1)[0]),
    b"T": lambda u: u.text(u.number("<I", 4)),
    b"C": lambda u: u.push(u.take(u.take(1)[0])),
    b"B": lambda u: u.push(u.take(u.number("<I", 4))),
    b"\x8e": lambda u: u.push(u.take(u.number("<Q", 8))),
    b"\x96": lambda u: u.push(bytearray(u.take(u.number("<Q", 8)))),
    # containers
    b"]": lambda u: u.push([]),
    b")": lambda u: u.push(()),
    b"}": lambda u: u.push({}),
    b"\x8f": lambda u: u.push(set()),
    b"l": lambda u: u.push(u.since_mark()),
    b"t": lambda u: u.push(tuple(u.since_mark())),
    b"\x85": lambda u: u.push((u.pop(),)),
    b"\x86": lambda u: u.push((u.pop(), u.pop())[::-1]),
    b"\x87": lambda u: u.push((u.pop(), u.pop(), u.pop())[::-1]),
    b"\x91": lambda u: u.new_set(),
    b"a": lambda u: u.append_items([u.pop()]),
    b"e": lambda u: u.append_items(u.since_mark()),
    b"s": lambda u: u.set_items([u.pop(), u.pop()][::-1]),
    b"u": lambda u: u.set_items(u.since_mark()),
    b"\x90": lambda u: u.add_items(u.since_mark()),
    # the memo
    b"q": lambda u: u.put(u.take(1)[0]),
    b"r": lambda u: u.put(u.number("<I", 4)),
    b"h": lambda u: u.get(u.take(1)[0]),
    b"j": lambda u: u.get(u.number("<I", 4)),
    b"\x94": WeightsUnpickler.memoize,
    # classes, functions, storages
    b"c": lambda u: u.find(u.line(), u.line()),
    b"\x93": WeightsUnpickler.stack_global,
    b"i": lambda u: u.inst(),
    b"R": lambda u: u.reduce(),
    b"\x81": lambda u: u.new_object(),
    b"\x92": lambda u: u.new_object_ex(),
    b"b": lambda u: u.build(),
    b"Q": WeightsUnpickler.persistent,
}
_TABLE: list[Handler | None] = [_INSTRUCTIONS.get(bytes([code])) for code in range(256)]
