"""The command line: parses, calls, prints."""

from siis.cli.app import app

__all__ = ["app"]
