"""The main job, from examples with doubtful labels to files with answers: what the command line calls."""

from siis.workflow.explanation import Explanation, explain
from siis.workflow.fit_job import JobData, run_job
from siis.workflow.fit_options import FitOptions
from siis.workflow.merged_labels import MergedLabels, merge_checked, new_classes
from siis.workflow.option_names import worded
from siis.workflow.outcome import Outcome, fit_data
from siis.workflow.outputs import checked_labels, output_files
from siis.workflow.prediction import predict_file

__all__ = [
    "Explanation",
    "FitOptions",
    "JobData",
    "MergedLabels",
    "Outcome",
    "checked_labels",
    "explain",
    "fit_data",
    "merge_checked",
    "new_classes",
    "output_files",
    "predict_file",
    "run_job",
    "worded",
]
