"""Small seeded data sets whose density is known or easy to see."""

from rhokit.datasets.generators import bimodal, bimodal_pdf, clusters, spirals

__all__ = ["bimodal", "bimodal_pdf", "clusters", "spirals"]
