"""Time of a thousand densities over the number of training rows."""
