"""Studies: what the library claims, checked on simulated data. One file each, on public names only."""
