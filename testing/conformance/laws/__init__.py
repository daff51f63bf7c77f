"""The laws behind the words of the schema: the promises of a kind, a tag, a variant or a rule of result."""

from tt.testing.conformance.laws.base import Law
from tt.testing.conformance.laws.table import LAWS, check_laws, laws_of

__all__ = ["LAWS", "Law", "check_laws", "laws_of"]
