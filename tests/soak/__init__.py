"""Long random use of models, beside a slow model that keeps all rows."""
