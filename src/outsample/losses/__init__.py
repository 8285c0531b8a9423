"""Losses: of single predictions, of whole sets of them, and how a user names one."""
