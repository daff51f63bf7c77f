"""The names of tt: those that are imported when first used, and those that are left out, with reasons."""
