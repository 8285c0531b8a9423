"""Resampling: labels drawn with X fixed (labels, schemes, references), and rows left out (rows, bags)."""
