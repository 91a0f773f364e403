"""A review that needs no files to be carried: decisions are kept at once, and fitted in the background."""

from siis.app.review.server import ReviewServer
from siis.app.review.session import Refit, Session

__all__ = ["Refit", "ReviewServer", "Session"]
