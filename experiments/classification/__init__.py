"""Accuracies of the paper's classifiers, ours, and others, on the paper's sets."""
