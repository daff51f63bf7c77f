"""The operator schema: grammar, model, loader, snapshot and generated files."""

from tt.core.schema.model import MISSING, Alias, Argument, OpDefinition, Return, Signature, Type

__all__ = ["MISSING", "Alias", "Argument", "OpDefinition", "Return", "Signature", "Type"]
