"""A review that needs no files to be carried: decisions are kept at once, and fitted in the background."""

from siis.decisions import JOURNAL, Journal, check_not_reviewed
from siis.review.server import ReviewServer
from siis.review.session import Session

__all__ = ["JOURNAL", "Journal", "ReviewServer", "Session", "check_not_reviewed"]
