"""The paper's bound beside what Fourier features and the rule of sizes really do."""
