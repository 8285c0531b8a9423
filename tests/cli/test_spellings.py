"""Tables as people write them: read as numbers, and told."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outsample.cli.files import read_table
from outsample.cli.models import learner_for
from outsample.cli.preparation import PreparedTable

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
MESSY = Path(os.environ.get("OUTSAMPLE_DATA", BESIDE)) / "messy"


def prepared(columns, **options):
    """(the inputs, what was told) of a table of texts with a target of two classes."""
    told = []
    frame = pd.DataFrame({name: pd.Series(values).astype("category") for name, values in columns.items()})
    frame["y"] = np.resize(["u", "v", "v"], len(frame))
    return PreparedTable.of(frame, "y", say=told.append, **options).X, told


@pytest.mark.parametrize(
    ("written", "numbers", "sentence"),
    [
        (["5%", "12.5 %", "-3%"], [5, 12.5, -3], "percent signs are taken off: c"),
        (["1,234", "12,345,678.5", "7"], [1234, 12345678.5, 7], "separators of thousands are taken off: c"),
        (["$1,200", "$35.50", "$7"], [1200, 35.5, 7], "currency signs are taken off: c"),
        (["True", "false", "TRUE"], [1, 0, 1], "true and false become 1 and 0: c"),
        (["2020-01-31", "2020-02-01", "2020-03-01"], [0, 1, 30], "dates become days since 2020-01-31"),
        (["31/01/2020", "1/2/2020", "1/3/2020"], [0, 1, 30], "dates become days since 2020-01-31"),
        (["01/31/2020", "2/1/2020", "3/1/2020"], [0, 1, 30], "dates become days since 2020-01-31"),
        (["2020-01-31 06:00", "2020-01-31 12:00", "2020-02-01 00:00"], [0.25, 0.5, 1], "days since 2020-01-31"),
    ],
)
def test_numbers_as_people_write_them(written, numbers, sentence):
    X, told = prepared({"c": [*written, None]})
    np.testing.assert_allclose(X["c"], [*numbers, np.nan])
    assert any(sentence in told_one for told_one in told)


@pytest.mark.parametrize("written", [["1,23", "4,56", "7,89"], ["5%", "much", "2%"], ["A1", "B2", "A1"]])
def test_words_stay_words(written):
    X, told = prepared({"c": written * 4})
    assert isinstance(X["c"].dtype, pd.CategoricalDtype)
    assert told == []


def test_dates_of_two_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match="column 'c' writes dates in more than one way"):
        prepared({"c": ["2020-01-31", "31/01/2020", "1/2/2020"]})


def test_identifiers_are_left_out_and_told():
    X, told = prepared({"id": [f"k-{i}" for i in range(40)], "c": ["a", "b"] * 20})
    assert list(X) == ["c"]
    assert told == ["left out, because hardly two rows have the same value: 'id'"]


def test_a_column_that_is_the_target_in_other_words_is_told():
    _, told = prepared({"alive": ["no", "yes", "yes"] * 10, "c": ["a", "b", "a"] * 10})
    assert told == [
        "column 'alive' is 'y' in other words; if it is known only together with it, leave it out with --drop alive"
    ]


def test_a_target_of_amounts_is_a_target_of_numbers():
    told = []
    frame = pd.DataFrame(
        {"a": np.arange(30) % 7, "price": pd.Series([f"${1000 + i:,}" for i in range(30)], dtype="category")}
    )
    found = PreparedTable.of(frame, "price", say=told.append)
    assert found.task == "regression"
    assert found.y[:2].tolist() == [1000, 1001]
    assert "currency signs are taken off: price" in told


TARGETS = {
    "titanic.csv": "survived",
    "telco.csv": "Churn",
    "ames.csv": "SalePrice",
    "Cars93_miss.csv": "Price",
    "mpg.csv": "mpg",
    "penguins.csv": "species",
    "flights.csv": "passengers",
    "daily-min-temperatures.csv": "Temp",
}


@pytest.mark.skipif(not MESSY.is_dir(), reason="needs the messy tables of OUTSAMPLE_DATA")
@pytest.mark.parametrize("name", TARGETS)
def test_real_tables_are_fitted_as_they_are(name):
    data = PreparedTable.of(read_table(str(MESSY / name)), TARGETS[name], say=lambda sentence: None)
    learner = learner_for("tree", data, say=lambda sentence: None).with_settings(["max_leaf_nodes=4"])
    assert learner.estimator.fit(data.X, data.y).predict(data.X).shape == data.y.shape
