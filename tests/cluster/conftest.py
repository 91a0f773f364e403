"""The command line, run in this process."""

import pytest

from cli_case import SIIS


@pytest.fixture(name="siis")
def program():
    return SIIS
