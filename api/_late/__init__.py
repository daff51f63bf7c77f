"""Functions and classes of `tt` itself that are imported when they are first used."""
