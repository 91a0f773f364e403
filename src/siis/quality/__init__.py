"""How far to trust labels and answers: noise, quality of each label, calibration, what to label next."""

from siis.quality.annotators import annotator_table as annotator_table
from siis.quality.assess import Assessment as Assessment
from siis.quality.assess import LabelAgreement as LabelAgreement
from siis.quality.assess import assess_labels as assess_labels
from siis.quality.assess import label_agreement as label_agreement
from siis.quality.assess import warn_about_labels as warn_about_labels
from siis.quality.learning_curve import LabelGain as LabelGain
from siis.quality.listings import issue_table as issue_table
from siis.quality.listings import ranking_table as ranking_table
from siis.quality.noise import Calibration as Calibration
from siis.quality.noise import NoiseModel as NoiseModel
from siis.quality.noise import fit_noise as fit_noise
from siis.quality.overlap import overlap_table as overlap_table
