"""Two hills on a line: errors against the true density and against exact KDE."""
