"""Resampling: labels drawn with X fixed, and rows left out. The two kinds stay apart."""
