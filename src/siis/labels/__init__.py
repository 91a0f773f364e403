"""Given labels of any form as classes, distributions and labelled vertices of a graph."""

from siis.labels.coding import LabelCoding as LabelCoding
from siis.labels.coding import LabelWarning
from siis.labels.coding import coded as coded
from siis.labels.coding import distributions as distributions
from siis.labels.coding import encode_labels as encode_labels
from siis.labels.coding import one_hot as one_hot
from siis.labels.dawid_skene import AnnotatedLabels, from_annotators
from siis.labels.given_labels import GivenLabels as GivenLabels
from siis.labels.given_labels import read_labels as read_labels
from siis.labels.unlabelled import folded as folded
from siis.labels.vertex_labels import VertexLabels as VertexLabels
from siis.labels.vertex_labels import gather as gather

__all__ = [
    "AnnotatedLabels",
    "LabelWarning",
    "from_annotators",
]
