"""Makes operators of compiled functions: signature, rules for dtypes and shapes, and kernels."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tt.core.custom_op.custom_op import CustomOp, make_op
from tt.core.custom_op.define import check_name
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle
from tt.core.dispatch.registry.tables import KernelTable
from tt.core.errors import ArgumentError, UnknownNameError
from tt.core.extension.generate import Instance
from tt.core.extension.parameters import Passed, Specification
from tt.core.extension.types import CType, Function, Parameter
from tt.core.schema.fields import FIELDS
from tt.core.schema.model import Argument, OpDefinition, Signature

__all__ = ["InlineKernel", "Operator", "add_kernel", "define", "specification"]

_SCHEMA_TYPE: Final = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "Scalar"}


@dataclass(frozen=True)
class Operator:
    """The description of an operator before it is created.

    Attributes
    ----------
    name : str
        "namespace::name".
    overloads : tuple of Function
        The functions of one name, which differ in their dtypes.
    dtypes : tuple of str
        The dtypes of a template.
    signature : Signature
        As given or as it follows from the first function.
    result : str or tuple of str
        The rule for the dtype of the results, one for each of several or one for all; "" where it follows from the
        functions.
    doc : str
        Its documentation.
    """

    name: str
    overloads: tuple[Function, ...]
    dtypes: tuple[str, ...]
    signature: Signature
    result: str | tuple[str, ...]
    doc: str

    @classmethod
    def make(
        cls,
        name: str,
        overloads: Sequence[Function],
        *,
        dtypes: Sequence[str],
        schema: str | None = None,
        result: str | tuple[str, ...] = "",
        doc: str = "",
    ) -> Operator:
        """Check the description of an operator and complete it.

        Raises
        ------
        ArgumentError
            When functions and schema do not fit each other, or the number of rules is not that of the results.
        SchemaError
            When the schema is none.
        UnknownNameError
            If `result` is not a rule.
        """
        check_name(name)
        first = overloads[0]
        words = FIELDS["result"].words or ()
        for rule in (result,) if isinstance(result, str) else result:
            if rule and rule not in words:
                raise UnknownNameError("rule for the dtype of results", rule, words)
        if first.elementwise and not first.parameters:
            raise ArgumentError(name, f"{first} takes no numbers, so it cannot be lifted over elements")
        # Overloads of one name serve other dtypes of the same operator.
        for other in overloads[1:]:
            if [p.type.kind for p in other.parameters] != [p.type.kind for p in first.parameters]:
                raise ArgumentError(
                    name,
                    "the functions of one name differ in more than their dtypes",
                    signatures=[str(first), str(other)],
                    hint="give them names of their own",
                )
        signature = Signature.parse(name + schema) if schema else Signature.parse(_signature(name, first))
        if not isinstance(result, str) and (first.elementwise or len(result) != len(signature.returns)):
            raise ArgumentError(
                name, f"result has {len(result)} rules, and {first} returns {len(signature.returns)} values"
            )
        operator = cls(name, tuple(overloads), tuple(dtypes), signature, result, doc)
        if schema:
            operator._check_schema()
        _ = operator.definition  # raises now, and not when everything is compiled
        return operator

    # --- the signature -------------------------------------------------------------------------------------------

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The parameters of the first function that a call gives."""
        return tuple(p for p in self.overloads[0].parameters if p.type.kind != "results")

    def _check_schema(self) -> None:
        function, signature = self.overloads[0], self.signature
        if len(signature.arguments) != len(self.given):
            self._refuse(
                f"the schema has {len(signature.arguments)} arguments, and {function} takes {len(self.given)}"
            )
        for argument, parameter in zip(signature.arguments, self.given, strict=True):
            if not _fits(argument, parameter.type, function.elementwise):
                self._refuse(
                    f"the argument '{argument}' of the schema cannot be passed as {parameter.type.spelling}"
                )
            # `const` in C and `(a!)` in the schema say the same, and must agree.
            writes, says = _writes(parameter.type), argument.alias is not None and argument.alias.write
            if writes and not says:
                self._refuse(
                    f"{parameter.type.spelling} {parameter.name} may be changed: write 'Tensor(a!)', or const"
                )
            if says and not writes:
                self._refuse(
                    f"{parameter.type.spelling} {parameter.name} cannot be changed, although the schema declares it"
                )
        returned = sum(p.type.kind == "results" for p in function.parameters) or int(
            function.result.kind != "void"
        )
        if len(signature.returns) != returned:
            self._refuse(f"the schema returns {len(signature.returns)} values, and {function} {returned}")

    def _refuse(self, problem: str) -> None:
        raise ArgumentError(self.name, problem, signatures=[str(self.signature)])

    # --- instances -------------------------------------------------------------------------------------------------

    def instances(self, start: int) -> list[Instance]:
        """Return the code to compile for this operator; entries are numbered from `start`."""
        instances: list[Instance] = []
        for function in self.overloads:
            for dtype in self.dtypes if function.template else ("",):
                instances.append(Instance(function, dtype, f"tt_entry_{start + len(instances)}"))
        return instances

    def served(self, instance: Instance) -> str | tuple[str, ...]:
        """Return the dtypes that an instance serves."""
        if instance.dtype:
            return (instance.dtype,)
        for parameter in instance.function.parameters:
            if parameter.type.kind in ("number", "pointer") and (
                parameter.type.kind == "pointer" or instance.function.elementwise
            ):
                return (parameter.type.dtype,)
            if parameter.type.kind == "tensor":
                break
        return "all" if instance.function.template or not self.dtypes else self.dtypes

    # --- the definition --------------------------------------------------------------------------------------------

    @property
    def definition(self) -> OpDefinition:
        """The entry of the schema."""
        function, names = self.overloads[0], [a.name for a in self.signature.arguments]
        tensors = tuple(a.name for a in self.signature.arguments if a.type.is_tensor)
        if not function.elementwise:
            results = len(self.signature.returns)
            none = all(not r.type.is_tensor for r in self.signature.returns)
            rule: str | tuple[str, ...] = "none" if none else self.result or "same"
            if results > 1 and isinstance(rule, str):
                rule = (rule,) * results
            first = self.signature.arguments[0] if self.signature.arguments else None
            alone = first is not None and str(first.type) == "Tensor" and first.alias is None
            return OpDefinition(
                self.signature,
                "other",
                # A tensor alone keeps its dtype; as a group of its own it is looked up by the shortest path.
                promote=(first.name,) if first is not None and alone else (),
                result=rule,
                grad=tensors,
                doc=self.doc,
            )
        group = tuple(
            name
            for at, name in enumerate(names)
            if name in tensors
            and all(f.parameters[at].type.dtype == f.parameters[0].type.dtype for f in self.overloads)
        )
        return OpDefinition(
            self.signature,
            "pointwise",
            meta="broadcast",
            promote=group,
            result=self.result or self._pointwise_result(),
            dtypes=tuple(dict.fromkeys(d for i in self.instances(0) for d in self.served(i))),
            variants=("function", "out"),
            grad=tensors,
            doc=self.doc,
        )

    def _pointwise_result(self) -> str:
        if all(f.result.dtype == f.parameters[0].type.dtype for f in self.overloads):
            return "default"
        names = {f.result.dtype for f in self.overloads}
        if len(names) == 1 and not any(f.template == f.result.dtype for f in self.overloads):
            return names.pop()
        raise ArgumentError(
            self.name,
            "the dtype of the result does not follow from the arguments' dtypes",
            signatures=[str(f) for f in self.overloads],
            hint="say it: result='float32'",
        )


def _writes(type_: CType) -> bool:
    return type_.kind in ("tensor", "pointer") and not type_.const


def _signature(name: str, function: Function) -> str:
    """Return the signature of the operator that follows from a function's types."""
    arguments: list[str] = []
    sets = 0
    for parameter in function.parameters:
        type_ = parameter.type
        if type_.kind == "results":
            continue
        if function.elementwise:
            # The first argument is a tensor, since an operator of numbers alone has no device.
            word = "Tensor|Scalar" if arguments else "Tensor"
        elif type_.kind in ("tensor", "pointer"):
            word = f"Tensor(a{sets}!)" if _writes(type_) else "Tensor"
            sets += _writes(type_)
        elif type_.kind == "text":
            word = "str"
        else:
            word = _number_word(function, type_)
        # A name of C may be a keyword of Python.
        name_in_python = parameter.name + "_" * keyword.iskeyword(parameter.name)
        arguments.append(f"{word} {name_in_python}")
    several = [p.name for p in function.parameters if p.type.kind == "results"]
    if len(several) == 1:
        returns = "Tensor"
    elif several:
        returns = f"({', '.join(f'Tensor {one}' for one in several)})"
    elif function.elementwise or function.result.kind == "tensor":
        returns = "Tensor"
    else:
        returns = "()" if function.result.kind == "void" else _number_word(function, function.result)
    return f"{name}({', '.join(arguments)}) -> {returns}"


def _number_word(function: Function, type_: CType) -> str:
    if function.template and type_.dtype == function.template:
        return "Scalar"
    letter = "b" if type_.dtype == "bool" else "f" if type_.dtype.startswith("float") else (
        "c" if type_.dtype.startswith("complex") else "i"
    )  # fmt: skip
    return _SCHEMA_TYPE[letter]


def _fits(argument: Argument, type_: CType, elementwise: bool) -> bool:
    kind = argument.type
    if kind.list:
        return False
    if type_.kind in ("tensor", "pointer"):
        return kind.is_tensor and kind.base == "Tensor"
    if type_.kind == "text":
        return kind.base == "str" and not kind.optional
    if elementwise and kind.is_tensor and not kind.optional:
        return True
    return kind.base in ("Scalar", "float", "int", "bool") and not kind.optional and not kind.is_tensor


# --- kernels -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InlineKernel:
    """A compiled function for a device and some dtypes."""

    device: str
    dtypes: str | tuple[str, ...]
    function: Callable[..., Any]


def specification(operator: Operator, instance: Instance) -> Specification:
    """Return the parameters of a compiled instance."""
    function = instance.function
    names = iter(operator.signature.arguments)
    parameters = []
    for parameter in function.parameters:
        type_, dtype = parameter.type, instance.dtype_of(parameter.type)
        if type_.kind == "results":
            parameters.append(Passed(parameter.name, "result"))
            continue
        argument = next(names)
        optional = argument.type.optional
        if type_.kind == "tensor":
            parameters.append(Passed(argument.name, "tensor", writes=not type_.const, optional=optional))
        elif type_.kind == "pointer":
            parameters.append(Passed(argument.name, "pointer", dtype, not type_.const, optional))
        elif type_.kind == "text":
            parameters.append(Passed(argument.name, "text"))
        else:
            parameters.append(Passed(argument.name, "element" if function.elementwise else "number", dtype))
    result: dict[str, Literal["element", "tensor", "number"]] = {
        "number": "element" if function.elementwise else "number",
        "tensor": "tensor",
    }
    return Specification(
        operator.name,
        tuple(parameters),
        result.get(function.result.kind, "none"),
        instance.dtype_of(function.result),
    )


def define(operator: Operator, kernels: Sequence[InlineKernel]) -> CustomOp:
    """Register an operator with its kernels.

    Raises
    ------
    DuplicateRegistrationError
        When the operator exists.
    """
    op = make_op(operator.definition)
    try:
        for kernel in kernels:
            op._keep(kernel.function, add_kernel(operator, kernel))
    except BaseException:
        op.remove()
        raise
    return op


def add_kernel(operator: Operator, kernel: InlineKernel) -> RegistrationHandle:
    """Register one kernel of an operator."""
    table = KernelTable(device=kernel.device)
    # An operator that changes its arguments has kernels that do so in place.
    changes = any(_writes(p.type) for p in operator.given)
    table.kernel(
        operator.name,
        kernel.function,
        dtypes=kernel.dtypes,
        form="inplace" if changes else "functional",
        takes=[a.name for a in operator.signature.arguments],
        # Elementwise code for float32 serves half precision by a cast; other functions see dtypes as they are.
        half="float32" if operator.overloads[0].elementwise else "native",
    )
    handle = REGISTRY.add(table)
    handle.what = f"kernel of {operator.name} for {kernel.device}"
    return handle


def by_name(functions: Sequence[Function]) -> Mapping[str, list[Function]]:
    """Return functions by name; a declaration and the definition of the same are one."""
    groups: dict[str, list[Function]] = {}
    for function in functions:
        others = groups.setdefault(function.name, [])
        # Declarations and definitions repeat each other: one function for the same types.
        types = [p.type.dtype + p.type.kind for p in function.parameters]
        same = [f for f in others if [p.type.dtype + p.type.kind for p in f.parameters] == types]
        if not same:
            others.append(function)
        elif function.defined and not same[0].defined:
            others[others.index(same[0])] = function
    return groups
