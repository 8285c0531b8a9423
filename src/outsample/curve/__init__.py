"""Results: the risk of every model of a path, the error of one model, and the losses of rows left out."""
