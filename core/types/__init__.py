"""The types that a tensor's description is made of, and the settings that every call reads."""
