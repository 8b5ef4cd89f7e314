"""The base of hidden items that ships: its recorded dispositions are those of its weights."""

import json
from pathlib import Path

from evals.examining.hidden_item_dispositions import BARS
from pipeline.engines.weights import EMBEDDED, HIDDEN_ITEM, is_embedded_base, weights_at, weights_id


def test_the_recorded_dispositions_are_of_the_weights_that_ship():
    record = json.loads(Path(weights_at(HIDDEN_ITEM), "dispositions.json").read_text(encoding="utf-8"))
    assert record["weights"] == weights_id(HIDDEN_ITEM) != weights_id(EMBEDDED)
    assert record["metrics"].keys() == BARS.keys()


def test_it_is_an_embedded_base_by_its_name():
    assert is_embedded_base(HIDDEN_ITEM)
