"""How a package takes names from its modules when they are first used."""
