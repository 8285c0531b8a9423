"""What scikit-learn's scorers compute, for many sets of predictions at once."""
