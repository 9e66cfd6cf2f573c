"""A first look: ``python -m rhokit.demo`` fits three real data sets and draws them.

All come with scikit-learn, so nothing is downloaded. A well-known method stands beside
every number: exact kernel density estimation, nearest neighbours, a random forest.
"""
