"""Classifiers that model the density of X in each class: naive Bayes, discriminant analysis, nearest centroids."""
