"""Fits that are linear in y: ridge, least squares on nested columns, and their closed forms."""
