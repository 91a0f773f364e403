"""Names of the files that a fit writes."""

PREDICTIONS = "predictions.csv"
ISSUES = "label_issues.csv"
QUALITY = "label_quality.csv"
NEXT = "label_next.csv"
MODEL = "model.siis"
REPORT = "report.html"
SUMMARY = "summary.json"
