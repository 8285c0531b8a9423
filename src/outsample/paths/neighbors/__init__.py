"""Nearest neighbours: one search serves every k."""
