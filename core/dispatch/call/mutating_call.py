"""Calls that change tensors: in-place forms, `out=`, and operators whose schema declares changed arguments.

This is a hot module: plain Python that Cython compiles with the C types of `mutating_call.pxd`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.argument_kinds import ABSENT
from tt.core.dispatch.call.kernel_call import KernelCall
from tt.core.dispatch.call.kernel_errors import failed
from tt.core.dispatch.call.results import verify
from tt.core.dispatch.mutate.mutation import give_own, refuse_written, with_targets, write_new
from tt.core.dispatch.mutate.overlap import note_overlap, refuse_shared
from tt.core.tensor.base import TensorBase
from tt.core.tensor.storage import Storage, memory_of

if TYPE_CHECKING:
    from tt.core.dispatch.call.bound_kernel import BoundKernel
    from tt.core.dispatch.call.operator import Operator


class MutatingCall(KernelCall):
    """A cached call that changes tensors: it refuses shared memory, runs the kernel and bumps the versions.

    Attributes
    ----------
    writes_target : int
        How the form is made from that of the kernel: RETURNS, CHANGES_FIRST, WRITES_OUTPUT or CHANGES_METADATA.
    operands : tuple of int
        For OUT: the positions of the tensors.
    function : callable
        The function of a COMPOSITE, REROUTE or PYTHON call; of an OUT call, the one that copies the result where the
        kernel cannot write it.
    """

    __slots__ = ("function", "operands", "writes_target")

    writes_target: int
    operands: tuple[int, ...]
    function: Callable[..., Any]

    def __init__(self, operator: Operator | None, form: str) -> None:
        super().__init__(operator, form)
        self.writes_target = codes.RETURNS
        self.operands = ()
        self.function = ABSENT

    def run_inplace(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Change the first argument and return it."""
        target = args[0]
        how = self.writes_target
        if target._storage is not None and how != codes.CHANGES_METADATA:
            # Mostly one comparison: tensors that were never viewed or changed have no storage.
            storage = target._storage
            shared = target._root is not None
            owner = None
            if type(storage) is Storage:
                memory = storage
                owner = memory.owner
                if memory.may_overlap:
                    shared = True
            else:
                shared = True
            for value in args:
                if isinstance(value, TensorBase):
                    other = value
                    if other is not target and other._storage is not None and not shared:
                        # Of `x.data` and x, which have two storages, the owner is one.
                        if type(other._storage) is Storage:
                            memory = other._storage
                            shared = memory.owner is owner
                        else:
                            shared = memory_of(other._storage) is owner
            if shared:
                refuse_shared(self, target, args)
        if how == codes.CHANGES_FIRST:
            self.call_kernel(choice, args)
        elif how == codes.WRITES_OUTPUT:
            prepared = self.handles(choice, args)
            prepared.append(target._handle)
            try:
                if len(prepared) == 3:
                    choice.function(prepared[0], prepared[1], prepared[2])
                else:
                    choice.function(*prepared)
            except Exception as error:
                failed(self, choice, error, args, prepared)
        else:
            handle = self.call_kernel(choice, args)
            if not self.verified:
                verify(self, choice, handle)
            if how == codes.CHANGES_METADATA:
                storage = target._storage
                if storage is None or self.backend.storage_owner(handle) is storage.owner:
                    target._set_data(handle, target._spec)
                else:  # resize_ needs more memory than there is
                    from tt.core.tensor.sharing import move_storage  # which few programs need

                    move_storage(storage, target, handle)
                note_overlap(target)
            else:
                self.operator.write_back(self, target, handle, args)
        target._bump_version()
        return target

    def run_out(self, args: tuple[Any, ...]) -> Any:
        """Let the kernel write its result into the last argument, if nothing else is to be done."""
        choice = self.choose(args)
        count = len(args) - 1
        target = args[count]
        shape = target._handle.shape
        filled = False
        plain = choice is not None and target._root is None
        storage = target._storage
        owner = None
        if type(storage) is Storage:
            memory = storage
            owner = memory.owner
            if memory.may_overlap:
                plain = False
        elif storage is not None:
            plain = False  # perhaps read-only
        for place in range(count):
            value = args[place]
            if isinstance(value, TensorBase):
                tensor = value
                found = tensor._handle.shape
                if found == shape:
                    filled = True
                elif found != ():  # an operand with dimensions may broadcast beyond the output
                    plain = False
                # Backends without views do not write outputs themselves: there is an owner.
                if tensor is not target and tensor._storage is not None and storage is not None and plain:
                    if type(tensor._storage) is Storage:
                        memory = tensor._storage
                        plain = memory.owner is not owner
                    else:
                        plain = memory_of(tensor._storage) is not owner
        if not filled or not plain or choice is None:
            return self.function(self, args)
        prepared = self.handles(choice, args)
        prepared.append(target._handle)
        try:
            if len(prepared) == 3:  # unrolled, as in `call_kernel`
                choice.function(prepared[0], prepared[1], prepared[2])
            else:
                choice.function(*prepared)
        except Exception as error:
            failed(self, choice, error, args, prepared)
        target._bump_version()
        return target

    def run_mutating(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any:
        """Run the kernel of an operator that changes arguments, and note what changed."""
        targets = []
        shared = False
        for position in self.operator.mutates:
            value = args[position]
            if isinstance(value, TensorBase):
                targets.append(value)
            elif value is not None:
                for item in value:
                    if item is not None:
                        targets.append(item)
        if len(targets) == 1 and targets[0]._root is None:
            # Mostly one comparison: few tensors share memory.
            storage = targets[0]._storage
            if storage is not None and (type(storage) is not Storage or storage.may_overlap):
                shared = True  # perhaps read-only
            for value in args:
                if isinstance(value, TensorBase):
                    if value._storage is not None and value is not targets[0]:
                        shared = True
                elif type(value) is list:
                    shared = True
        else:
            shared = True
        if shared and not self.all_apart(args):
            refuse_written(self, targets, args)
        if self.backend.functionalised:
            give_own(self, targets, args)
        prepared = self.handles(choice, args)
        try:
            handles = choice.function(*prepared)
        except Exception as error:
            handles = failed(self, choice, error, args, prepared)
        if self.writes_target == codes.RETURNS:  # the new values, and then the results
            handles = write_new(self, targets, handles, args)
        for target in targets:
            target._bump_version()
        if self.operator.returns_targets:
            return with_targets(self, choice, args, handles)
        if not self.verified:
            verify(self, choice, handles)
        return self.wrap_all(handles, args)

    def all_apart(self, args: tuple[Any, ...]) -> bool:
        """Return whether the tensors certainly share no memory; looks at each one only once, as lists may be long."""
        seen = set()
        viewed = set()
        spans = []
        count = 0
        for value in args:
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, TensorBase):
                    tensor = item
                    storage = tensor._storage
                    if storage is None:
                        seen.add(id(tensor))
                        count += 1
                    elif type(storage) is not Storage or storage.may_overlap:
                        return False
                    elif tensor._root is None:
                        seen.add(id(storage.owner))
                        count += 1
                    else:  # parameters are often parts of one tensor
                        backend, handle = storage.backend, tensor._handle
                        size = math.prod(handle.shape) * tensor._spec.dtype.itemsize
                        if size == 0 or not backend.is_row_major(handle):
                            return False
                        begin = backend.data_ptr(handle)
                        spans.append((begin, begin + size))
                        viewed.add(id(storage.owner))
        if len(seen) != count or not seen.isdisjoint(viewed):
            return False
        spans.sort()
        return all(one[1] <= other[0] for one, other in pairwise(spans))
