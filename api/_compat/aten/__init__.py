"""`tt.ops.aten`: PyTorch's names of operators, each tt's operator or a function of it."""

from tt._compat.aten.function_schema import schema_of
from tt._compat.aten.namespace import AtenOperators, AtenOverload, AtenPacket, packet_of

__all__ = ["AtenOperators", "AtenOverload", "AtenPacket", "packet_of", "schema_of"]
