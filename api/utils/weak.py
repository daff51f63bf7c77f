"""tt.utils.weak: mappings whose keys are compared by identity and not kept alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from typing import Self

    from tt import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

V = TypeVar("V")


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to others of the same object; its hash is the identity of the object.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.weak import WeakIdRef
    >>> x = tt.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(tt.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[WeakIdRef], object] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # typeshed declares `__new__` alone
        # Kept, because the hash is needed when the object is gone, to remove its entry.
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        if mine is not None and isinstance(other, WeakIdRef):
            return mine is other()
        return self is other


Entries: TypeAlias = dict[WeakIdRef, V]


class WeakIdKeyDictionary(MutableMapping[Any, V], Generic[V]):
    """A mapping from objects, compared by identity; an entry ends with its key.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.weak import WeakIdKeyDictionary
    >>> x = tt.ones(2)
    >>> names = WeakIdKeyDictionary({x: "weight"})
    >>> names[x], tt.ones(2) in names
    ('weight', False)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None) -> None:
        self.data: Entries[V] = {}
        # Weak, or each key's reference would keep the mapping alive.
        mine = weakref.ref(self)

        def remove(reference: WeakIdRef) -> None:
            owner = mine()
            if owner is not None:
                owner.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: object) -> V:
        try:
            return self.data[WeakIdRef(key)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: object, value: V) -> None:
        self.data[WeakIdRef(key, self._remove)] = value

    def __delitem__(self, key: object) -> None:
        try:
            del self.data[WeakIdRef(key)]
        except KeyError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[Any]:
        # Keys may die while this runs, which removes entries.
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: object) -> bool:
        try:
            return WeakIdRef(key) in self.data
        except TypeError:  # an object without weak references cannot be a key
            return False

    def copy(self) -> WeakIdKeyDictionary[V]:
        """Return a mapping with the same entries."""
        return WeakIdKeyDictionary(list(self.items()))

    __copy__ = copy

    def popitem(self) -> tuple[Any, V]:
        """Remove the entry that was added last and return it."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary[V]:
        """Return a mapping from the same objects to copies of what they have."""
        return type(self)([(key, deepcopy(value, memo)) for key, value in self.items()])

    def __or__(self, other: Any) -> Any:
        return _union(type(self), self, other)

    def __ror__(self, other: Any) -> Any:
        return _union(type(self), other, self)

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]  # it changes

    def keyrefs(self) -> list[WeakIdRef]:
        """Return the references to the keys."""
        return list(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} entries>"


def _union(kind: type[WeakIdKeyDictionary[V]], first: Any, second: Any) -> Any:
    """Return a mapping with the entries of two; what both have is that of the second."""
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return NotImplemented
    new = kind(list(first.items()))
    new.update(list(second.items()))
    return new


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor, or None once it is gone.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.weak import TensorWeakRef
    >>> x = tt.ones(2)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    """

    def __init__(self, tensor: Tensor) -> None:
        import tt

        if not tt.is_tensor(tensor):
            raise TypeError(f"TensorWeakRef() takes a tensor, not {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        """Return the tensor, or None."""
        return self.ref()
