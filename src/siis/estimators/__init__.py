"""Estimators with the face of scikit-learn: what all share, and the classifier."""
