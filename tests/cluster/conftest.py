"""The command line, run in this process."""

import pytest

from cli_case import SIIS


@pytest.fixture
def siis():
    """Run the program with arguments; the result has exit_code, stdout, stderr."""

    def run(*args):
        return SIIS(*args)

    return run
