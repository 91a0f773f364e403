"""Coding of labels."""

from siis.labels.coding import LabelCoding, distributions, encode_labels, label_rows
from siis.labels.supervision import Supervision, gather

__all__ = ["LabelCoding", "Supervision", "distributions", "encode_labels", "gather", "label_rows"]
