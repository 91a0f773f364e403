"""Given labels of any form as classes, distributions and labelled vertices of a graph."""

from siis.labels.coding import LabelCoding, coded, distributions, encode_labels, label_rows, one_hot
from siis.labels.dawid_skene import AnnotatedLabels, from_annotators
from siis.labels.given_labels import GivenLabels, read_labels
from siis.labels.label_spelling import LabelWarning
from siis.labels.vertex_labels import VertexLabels, gather

__all__ = [
    "AnnotatedLabels",
    "GivenLabels",
    "LabelCoding",
    "LabelWarning",
    "VertexLabels",
    "coded",
    "distributions",
    "encode_labels",
    "from_annotators",
    "gather",
    "label_rows",
    "one_hot",
    "read_labels",
]
