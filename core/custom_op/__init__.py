"""Third-party operators: their definition and registrations."""
