"""Penalised linear models: elastic net, logistic regression, support vector machines; approximate leave-one-out."""
