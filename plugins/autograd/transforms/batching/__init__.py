"""How operators run on many examples at once."""
