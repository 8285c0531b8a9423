"""Compiled kernels: plain arrays in, plain arrays out. Callers validate every index beforehand; see SPEED.md."""
