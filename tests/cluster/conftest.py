"""The command line, run in this process."""

import pytest
from typer.testing import CliRunner

from siis.app.cli.program import app


@pytest.fixture
def siis():
    """Run the program with arguments; the result has exit_code, stdout, stderr."""

    def run(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)

    return run
