"""Settings are given by name, so that one can be added or moved without changing what a call means."""

from inspect import Parameter, signature

import pytest

from siis import SIISClassifier, baselines
from siis.distributed import DaskSIISClassifier

CLASSIFIERS = [SIISClassifier, DaskSIISClassifier, *(getattr(baselines, name) for name in baselines.__all__)]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_parameters_of_classifiers_are_keywords(classifier):
    kinds = {parameter.kind for parameter in signature(classifier).parameters.values()}
    assert kinds == {Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="positional"):
        classifier(10)
