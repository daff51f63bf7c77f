"""The operator schema: grammar, model, loader, snapshot and what is generated from them."""

from tt.core.schema.model import MISSING, Alias, Argument, OpDefinition, Return, Signature, Type

__all__ = ["MISSING", "Alias", "Argument", "OpDefinition", "Return", "Signature", "Type"]
