"""Names of the files that a fit writes, and how much one of them holds."""

PREDICTIONS = "predictions.csv"
PREDICTION_COLUMNS = ("id", "label", "probability", "given", "agrees")
ISSUES = "label_issues.csv"
QUALITY = "label_quality.csv"
NEXT = "label_next.csv"
DUPLICATES = "near_duplicates.csv"
OUTLIERS = "outliers.csv"
OVERLAP = "class_overlap.csv"
CHECKED = "checked_labels.csv"
ANNOTATORS = "annotators.csv"
MODEL = "model.siis"
REPORT = "report.html"
REPORT_DATA = "report.json"  # what the report shows, as data
SUMMARY = "summary.json"
ANSWER_COLUMNS = ("siis_label", "siis_probability", "siis_quality", "siis_suspect", "siis_checked")
OWN, CLEANLAB = "siis", "cleanlab"  # what the columns of ISSUES are called
QUERIES = 20  # examples in NEXT, by default
