"""Evidence of two kinds: the optimism of every draw of labels, and the loss of every row left out."""
