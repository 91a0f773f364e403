"""Estimators with the API of scikit-learn: what all share, and the classifiers."""
