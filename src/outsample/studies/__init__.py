"""Studies: the paper's tables and figures made again, and claims of this library checked by simulation."""
