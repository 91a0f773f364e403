"""Names that may have been meant."""

import pytest

from siis.texts import unknown


@pytest.mark.parametrize(
    ("name", "names", "guess"),
    [
        ("id", ["kind", "shop_id"], "shop_id"),
        ("id", ["kind", "shopId"], "shopId"),
        ("id", ["kind", "width", "town"], None),
        ("shop id", ["id", "kind"], "id"),
        ("name", ["surname", "age"], "surname"),
        ("lable", ["label", "kind"], "label"),
        ("Label", ["kind", "label"], "label"),
        ("colour", ["color", "kind"], "color"),
        ("weight", ["town", "kind"], None),
    ],
)
def test_did_you_mean(name, names, guess):
    said = unknown(name, names)
    assert said.startswith(f" Did you mean {guess}? There are:" if guess else " There are:")
