"""What was promised, measured: sections of results with their goals."""
