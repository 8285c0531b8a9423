"""Criteria: each turns a problem into a risk curve. One file per idea; `base` lists them by name."""
