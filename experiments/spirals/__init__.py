"""Three spirals in the plane: densities of all models, as numbers and as images."""
