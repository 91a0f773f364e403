"""`python -m siis`."""

from siis.cli import app

app()
