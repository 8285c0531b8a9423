"""How work runs: seeds, workers, threads, progress, and a store that keeps what is finished."""
