"""Who takes part: densities, detectors of anomalies, classifiers and regressors."""
