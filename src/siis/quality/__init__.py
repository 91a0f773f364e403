"""How far to trust labels and answers: noise, quality of each label, calibration, what to ask next."""

from siis.quality.agreement import LabelAgreement, label_agreement
from siis.quality.annotators import annotator_table
from siis.quality.assess import Assessment, assess_labels, warn_about_labels
from siis.quality.calibration import Calibration
from siis.quality.enough import LabelGain, label_gain
from siis.quality.issues import issue_table, ranking_table
from siis.quality.near_duplicates import near_duplicate_table
from siis.quality.noise import NoiseModel, fit_noise
from siis.quality.outliers import outlier_table
from siis.quality.overlap import overlap_table
from siis.quality.queries import query_table

__all__ = [
    "Assessment",
    "Calibration",
    "LabelAgreement",
    "LabelGain",
    "NoiseModel",
    "annotator_table",
    "assess_labels",
    "fit_noise",
    "issue_table",
    "label_agreement",
    "label_gain",
    "near_duplicate_table",
    "outlier_table",
    "overlap_table",
    "query_table",
    "ranking_table",
    "warn_about_labels",
]
