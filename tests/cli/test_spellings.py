"""Tables as people write them: read as numbers, and told."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outsample.cli.models import learner_for
from outsample.cli.tables import PreparedTable, read_table

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


def column_of(cells, **options):
    """(the column as read, what was told) of cells between which the target cannot be guessed."""
    X, told = prepared({"c": cells, "other": np.resize(["a", "b"], len(cells)).tolist()}, **options)
    return X.get("c"), told


VALUES = [f"{value:.4f}" for value in np.random.default_rng(0).normal(size=200)]


@pytest.mark.parametrize(
    "cell",
    ["1.2.3", "1.234,50", "(12)", "5K", "Total", "12 kg", "n/k", "--", "1,5", "$5 000,", "7%", "3/4", "12-", "O.5"],
)
@pytest.mark.parametrize("row", [0, 77, 200])
def test_a_cell_that_is_no_number_is_named_and_missing(cell, row):
    cells = [*VALUES[:row], cell, *VALUES[row:]]
    read, told = column_of(cells)
    assert told == [f"column 'c' holds numbers but for 1 cell, taken as missing: {cell!r} in row {row + 1}"]
    np.testing.assert_array_equal(read, [np.nan if text == cell else float(text) for text in cells])


def test_rows_are_counted_as_in_the_file():
    told = []
    frame = pd.DataFrame({"c": pd.Series([*VALUES, "5K"], dtype="category"), "y": np.resize([0.0, 1, np.nan], 201)})
    frame.loc[200, "y"] = 1
    PreparedTable.of(frame, "y", say=told.append)
    assert "column 'c' holds numbers but for 1 cell, taken as missing: '5K' in row 201" in told


def test_a_few_cells_are_named_and_the_others_counted():
    read, told = column_of([*VALUES, "a", "b", "c", "d"])
    assert read.isna().sum() == 4
    assert told == [
        "column 'c' holds numbers but for 4 cells, taken as missing: 'a' in row 201, 'b' in row 202, 'c' in row 203 "
        "and 1 more"
    ]


@pytest.mark.parametrize(
    ("written", "numbers", "sentence"),
    [
        ([f"\u2212{i}.5" for i in range(40)], [-i - 0.5 for i in range(40)], None),
        ([*map(str, range(40)), "(12)"], [*range(40), -12], "numbers in brackets are read as negative: c"),
        ([*map(str, range(40)), "1.234,50"], [*range(40), 1234.5], "commas are read as decimal marks: c"),
        (["1.234,50", "999,25"] * 20, [1234.5, 999.25] * 20, "commas are read as decimal marks: c"),
        ([f"{i},5" for i in range(40)], [i + 0.5 for i in range(40)], "commas are read as decimal marks: c"),
        ([f"1.234.{100 + i}" for i in range(40)], [1234100 + i for i in range(40)], "separators of thousands are"),
        ([f"1'234'{100 + i}" for i in range(40)], [1234100 + i for i in range(40)], "separators of thousands are"),
        ([f"1 234,{i:02}" for i in range(40)], [1234 + i / 100 for i in range(40)], "separators of thousands are"),
        ([f"($1,{200 + i})" for i in range(40)], [-1200 - i for i in range(40)], "currency signs are taken off: c"),
        ([f"{i} €" for i in range(40)] + ["0"], [*range(40), 0], "currency signs are taken off: c"),
    ],
)
def test_notations_that_a_column_makes_plain_are_read(written, numbers, sentence):
    read, told = column_of(written)
    np.testing.assert_allclose(read, numbers)
    assert (sentence is None and told == []) or any(sentence in one for one in told)


def test_a_sign_for_missing_may_stand_in_many_cells():
    read, told = column_of([*VALUES, *["?"] * 80])
    assert read.isna().sum() == 80
    assert told[0].startswith("column 'c' holds numbers but for 80 cells, taken as missing: '?' in row 201, ")


@pytest.mark.parametrize(
    "written",
    [
        [f"${i}" for i in range(40)] + [f"€{i}" for i in range(40)],
        [f"{i}%" for i in range(40)] + [str(i) for i in range(40)],
        [f"{i}%" for i in range(40)] + [f"{i} £" for i in range(40)],
    ],
)
def test_two_units_in_one_column_are_refused_by_name(written):
    with pytest.raises(ValueError, match=r"column 'c' holds '.*' and '.*', which are not in the same unit"):
        column_of(written)


def test_a_single_cell_of_another_unit_is_named():
    _, told = column_of([*(f"{i}%" for i in range(40)), "0", "6"])
    assert told[0] == "column 'c' holds numbers but for 1 cell, taken as missing: '6' in row 42"


def test_categories_that_look_like_numbers_stay_categories():
    read, told = column_of(["1", "2", "3", "4", "5+"] * 20)
    assert isinstance(read.dtype, pd.CategoricalDtype)
    assert told == []


def test_what_is_left_out_of_numbers_and_words_is_said_with_its_words():
    read, told = column_of([*map(str, range(40)), *(f"PC {i}" for i in range(30))])
    assert read is None
    assert told == ["left out, because among its numbers are many words, such as 'PC 0', 'PC 1', 'PC 2': 'c'"]


def test_a_date_that_is_none_is_named_and_missing():
    read, told = column_of([*(f"2020-01-{i:02}" for i in range(1, 31)), "later"])
    assert "column 'c' holds dates but for 1 cell, taken as missing: 'later' in row 31" in told
    np.testing.assert_array_equal(read, [*range(30), np.nan])


def test_a_target_that_is_no_number_in_a_cell_is_named_and_left_out():
    told = []
    frame = pd.DataFrame({"a": np.arange(201) % 7, "y": pd.Series([*VALUES, "1.2.3"], dtype="category")})
    found = PreparedTable.of(frame, "y", say=told.append)
    assert (found.task, len(found.y), len(found.X)) == ("regression", 200, 200)
    assert "column 'y' holds numbers but for 1 cell, taken as missing: '1.2.3' in row 201" in told
    classes = frame.assign(y=pd.Series([*np.resize(["0", "1"], 200), "x"], dtype="category"))
    assert set(PreparedTable.of(classes, "y", say=told.append).y) == {"0", "1", "x"}


def test_a_table_with_a_cell_that_is_no_number_is_prepared_like_the_one_without(tmp_path):
    rng = np.random.default_rng(0)
    good = "".join(f"{a:.4f},{b:.4f},{'yes' if a > 0 else 'no'}\n" for a, b in rng.normal(size=(200, 2)))
    for name, more in (("good.csv", ""), ("typo.csv", "1.2.3,0.5,yes\n")):
        (tmp_path / name).write_text(f"a,b,y\n{good}{more}")
    made = [PreparedTable.of(read_table(str(tmp_path / name)), "y") for name in ("good.csv", "typo.csv")]
    pd.testing.assert_frame_equal(made[0].X, made[1].X[:200])
    assert made[1].incomplete == ("a",)


def test_thousands_of_a_file_with_decimal_commas(tmp_path):
    lines = [f"1.{100 + i};{i},5;{'ja' if i > 20 else 'nein'}" for i in range(50)]
    (tmp_path / "eu.csv").write_text("\n".join(["a;b;y", *lines]))
    X = PreparedTable.of(read_table(str(tmp_path / "eu.csv")), "y").X
    np.testing.assert_array_equal(X["a"], 1100 + np.arange(50))


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
