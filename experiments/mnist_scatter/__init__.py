"""Log-densities of MNIST rows and of random rows, against those of exact KDE."""
