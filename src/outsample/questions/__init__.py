"""The public functions, one file per question."""
