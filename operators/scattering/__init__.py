"""scattering."""
