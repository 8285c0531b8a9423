"""Decision trees by number of leaves, depth and pruning: one grown tree holds the smaller ones."""
