"""How far to trust labels and answers: noise, quality of each label, calibration, what to ask next."""

from siis.trust.carriage import Carriage, carriage
from siis.trust.issues import issue_table, ranking_table
from siis.trust.noise import NoiseModel, fit_noise
from siis.trust.queries import query_table

__all__ = ["Carriage", "NoiseModel", "carriage", "fit_noise", "issue_table", "query_table", "ranking_table"]
