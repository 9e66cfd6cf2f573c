"""Errors of densities over the number of features, for several maps."""
