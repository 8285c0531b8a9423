"""The command line, as installed and on real files."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.cli.grammar import values_of
from outsample.cli.main import OncePerSentence

COMMAND = Path(sysconfig.get_path("scripts")) / "outsample"


def installed(*arguments, given=None, cwd=None):
    """The installed command: (exit code, standard output, standard error)."""
    done = subprocess.run([COMMAND, *arguments], input=given, capture_output=True, cwd=cwd, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A directory of real files."""
    folder = tmp_path_factory.mktemp("tables")
    iris = load_iris(as_frame=True)
    frame = iris.frame.assign(species=iris.target_names[iris.target]).drop(columns="target")
    frame.to_csv(folder / "iris.csv", index=False)
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";", decimal=",")
    frame.to_csv(folder / "tabs.tsv.gz", index=False, sep="\t")
    frame.to_parquet(folder / "iris.parquet")
    load_diabetes(as_frame=True).frame.to_csv(folder / "diabetes.csv", index=False)
    mixed = frame.iloc[::3].reset_index(drop=True)
    mixed["colour"] = np.resize(["red", "green", "blue", None, "red"], len(mixed))
    mixed.loc[::7, "petal width (cm)"] = np.nan
    mixed.to_csv(folder / "mixed.csv", index=False)
    return folder


IRIS = load_iris(return_X_y=True)


# The same answer, digit by digit


def test_installed_estimate_against_python(tables):
    code, out, err = installed(
        *("estimate", tables / "iris.csv", "--target", "species", "--set", "max_leaf_nodes=4", "--json")
    )
    ours = outsample.estimate(DecisionTreeClassifier(max_leaf_nodes=4), *IRIS, random_state=0)
    assert (code, err) == (0, "")
    said = json.loads(out)["estimate"]
    for name in ("in_sample", "optimism", "out_sample", "standard_error", "monte_carlo_error", "n_fits", "estimand"):
        assert said[name] == getattr(ours, name)


def test_select_against_python(command, tables):
    code, out, _ = command(
        *("select", tables / "iris.csv", "--target", "species", "--model", "tree", "--grid", "max_leaf_nodes=2:9"),
        *("--criterion", "permutation:7", "--rule", "one-standard-error", "--seed", "3", "--json"),
    )
    search = outsample.GridSearch(
        DecisionTreeClassifier(),
        {"max_leaf_nodes": range(2, 10)},
        criterion=outsample.Permutation(7),
        rule="one-standard-error",
        random_state=3,
    ).fit(*IRIS)
    said = json.loads(out)
    assert code == 0
    assert said["best_params"] == search.best_params_
    assert said["best_score"] == search.best_score_
    assert said["curve"]["out_sample"] == search.curve_.out_sample.tolist()
    assert said["curve"]["standard_error"] == search.curve_.standard_error.tolist()
    assert said["asked"] | {"file": ""} == {
        "file": "",
        "rows": 150,
        "columns": 4,
        "target": "species",
        "task": "classification",
        "model": "tree",
        "seed": 3,
    }


def test_compare_against_python(command, tables):
    code, out, _ = command(
        *("compare", tables / "iris.csv", "--target", "species", "--model", "knn", "--grid", "n_neighbors=1:9:2"),
        *("--criteria", "permutation,kfold:5,loo", "--json"),
    )
    criteria = ["permutation", outsample.CrossValidation(5, shuffle=True), "loo"]
    grid = {"n_neighbors": [1, 3, 5, 7, 9]}
    ours = outsample.compare(KNeighborsClassifier(), *IRIS, param_grid=grid, criteria=criteria, random_state=0)
    said = json.loads(out)["criteria"]
    assert code == 0
    assert list(said) == list(ours.curves)
    for name, estimate in ours.estimates.items():
        assert said[name]["params"] == ours.params[name]
        assert said[name]["out_sample"] == estimate.out_sample
        assert said[name]["curve"]["in_sample"] == ours.curves[name].in_sample.tolist()


def test_test_against_python(command, tables):
    code, out, _ = command(
        *("test", tables / "iris.csv", "--target", "species", "--set", "max_leaf_nodes=2", "--draws", "49", "--json")
    )
    ours = outsample.permutation_test(DecisionTreeClassifier(max_leaf_nodes=2), *IRIS, n_draws=49, random_state=0)
    said = json.loads(out)["test"]
    assert (code, said["pvalue"], said["statistic"]) == (0, ours.pvalue, ours.statistic)


@pytest.mark.parametrize("question", ["estimate", "select", "models", "compare", "test"])
@pytest.mark.parametrize("word", ["--scoring", "--loss"])
def test_every_command_is_told_what_to_judge_by_in_one_word(command, tables, question, word):
    grid = ("--grid", "max_depth=1:2") if question == "select" else ()
    code, out, err = command(question, tables / "iris.csv", "--target", "species", *grid, word, "accurace")
    assert (code, out) == (2, "")
    assert "'accurace' is unknown" in err


def test_test_of_a_full_tree_in_sample_says_that_it_is_blind(command, tables):
    arguments = ("test", tables / "iris.csv", "--target", "species", "--draws", "19")
    assert "real labels can hardly do better" in command(*arguments, "--in-sample")[1]
    assert "p = 0.05" in command(*arguments)[1]
    assert "exclude each other" in command(*arguments, "--in-sample", "--folds", "3")[2]


@pytest.mark.parametrize(
    ("arguments", "estimator"),
    [
        (("--model", "ridge", "--set", "alpha=0.3"), Ridge(alpha=0.3)),
        (
            ("--model", "polynomial", "--set", "degree=2"),
            Pipeline([("polynomial", PolynomialFeatures(2)), ("model", LinearRegression())]),
        ),
        (("--model", "sklearn.linear_model.Ridge", "--set", "alpha=2"), Ridge(alpha=2)),
        (("--model", "ridge", "--scale"), Pipeline([("scale", StandardScaler()), ("model", Ridge())])),
    ],
)
def test_models_against_python(command, tables, arguments, estimator):
    code, out, _ = command("estimate", tables / "diabetes.csv", "--target", "target", *arguments, "--json")
    frame = pd.read_csv(tables / "diabetes.csv")
    ours = outsample.estimate(estimator, frame.drop(columns="target"), frame["target"], random_state=0)
    assert code == 0
    assert json.loads(out)["estimate"]["out_sample"] == ours.out_sample


def test_preparation_is_inside_the_pipeline_and_said_aloud(command, tables):
    code, out, err = command(
        *("select", tables / "mixed.csv", "--target", "species", "--grid", "max_depth=1:3", "--criterion", "kfold:5"),
        *("--loss", "zero-one", "--json"),
    )
    frame = pd.read_csv(tables / "mixed.csv")
    X, y = frame.drop(columns="species"), frame["species"].to_numpy(dtype=object)
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False)
    prepare = ColumnTransformer(
        [("complete", SimpleImputer(strategy="median"), ["petal width (cm)"]), ("encode", encoder, ["colour"])],
        remainder="passthrough",
    )
    ours = outsample.GridSearch(
        Pipeline([("prepare", prepare), ("model", DecisionTreeClassifier())]),
        {"model__max_depth": [1, 2, 3]},
        criterion=outsample.CrossValidation(5),
        loss="zero-one",
        random_state=0,
    ).fit(X, y)
    said = json.loads(out)
    assert code == 0
    assert said["curve"]["out_sample"] == ours.curve_.out_sample.tolist()
    assert said["best_params"] == {"max_depth": ours.best_params_["model__max_depth"]}
    assert "median, inside the pipeline: petal width (cm)" in err
    assert "inside the pipeline: colour" in err
    assert command("estimate", tables / "mixed.csv", "--target", "species", "--quiet")[2] == ""


@pytest.mark.parametrize("name", ["semicolons.csv", "tabs.tsv.gz", "iris.parquet"])
def test_every_format_gives_the_same_answer(command, tables, name):
    plain, other = (
        json.loads(command("estimate", tables / file, "--target", "species", "--json")[1])["estimate"]
        for file in ("iris.csv", name)
    )
    assert other | {"seconds": 0} == plain | {"seconds": 0}


def test_standard_input_gzipped_or_not(command, tables, monkeypatch):
    text = (tables / "iris.csv").read_bytes()
    arguments = ("estimate", "-", "--target", "species", "--json")
    code, piped, _ = installed(*arguments, given=text)
    assert code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(text))))
    values = [json.loads(out)["estimate"]["out_sample"] for out in (piped, command(*arguments)[1])]
    assert values == 2 * [outsample.estimate(DecisionTreeClassifier(), *IRIS, random_state=0).out_sample]


def test_groups_weights_drop_and_positive(command, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
        person=np.arange(len(y)) // 2,
        weight=np.resize([1.0, 2.0], len(y)),
        kind=np.where(y == 1, "benign", "malignant"),
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = command(
        *("estimate", tmp_path / "t.csv", "--target", "kind", "--positive", "malignant", "--groups", "person"),
        *("--weights", "weight", "--drop", "c", "--criterion", "kfold:5", "--json"),
    )
    ours = outsample.estimate(
        DecisionTreeClassifier(),
        frame[["a", "b"]],
        (y == 0).astype(int),
        criterion=outsample.CrossValidation(5, shuffle=True),
        groups=frame["person"].to_numpy(),
        sample_weight=frame["weight"].to_numpy(),
        random_state=0,
    )
    assert code == 0
    assert json.loads(out)["estimate"]["out_sample"] == ours.out_sample


def test_audit_of_a_script(command, tables, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text("def procedure(X, y):\n    return 0.0\n\nother = 3\n")
    arguments = ("audit", script, tables / "iris.csv", "--target", "species")
    code, out, _ = command(*arguments, "--json")
    assert (code, json.loads(out)["audit"]["honest"]) == (0, False)
    assert json.loads(out)["audit"]["corrected"] == pytest.approx(2 / 3)
    report, plot = tmp_path / "audit.html", tmp_path / "audit.png"
    assert command(*arguments, "--report", report, "--plot", plot)[0] == 0
    assert "Is the procedure honest?" in report.read_text(encoding="utf-8")
    assert plot.stat().st_size > 1000
    assert command(*arguments, "--function", "nothing")[0] == 2
    assert "must be a function" in command(*arguments, "--function", "other")[2]
    script.write_text("def procedure(X, y):\n    return float('usa')\n")
    error = "ValueError: could not convert string to float: 'usa'"
    assert command(*arguments)[2] == f"outsample: {script}: procedure(X, y) failed: {error}\n"


# What can go wrong


def test_a_reader_that_goes_away(tables):
    line = f"'{COMMAND}' compare '{tables / 'iris.csv'}' --target species --json | head -1"
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"], capture_output=True, timeout=120, text=True
    )
    assert done.stdout.splitlines()[0] == "{"
    assert done.stdout.splitlines()[1] in ("0", "141")  # it may have finished writing before
    assert done.stderr == ""


def test_a_pipe_that_is_closed_at_once():
    process = subprocess.Popen([COMMAND, "datasets", "digits"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process.stderr:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.wait(60) == 141


BAD_FILES = {
    "empty.csv": b"",
    "blank.csv": b"\n\n  \n",
    "header.csv": b"a,b,y\n",
    "ragged.csv": b"a,b,y\n1,2,u\n1,2\n",
    "wide.csv": b"a,b,y\n1,2,u,9\n1,2,v\n",
    "latin1.csv": "a,b,y\n1,caf\xe9,u\n".encode("latin-1"),
    "twice.csv": b"a,a,y\n1,2,u\n2,3,v\n",
    "one.csv": b"a,y\n1,u\n2,u\n3,u\n4,u\n",
    "dates.csv": b"a,when,y\n"
    + b"".join(b"%d,01/%02d/2020,%s\n" % (i * i % 7, i % 12 + 1, b"uv"[i % 2 : i % 2 + 1]) for i in range(20)),
    "date-target.csv": b"a,y\n" + b"".join(b"%d,2020-01-%02d\n" % (i * i % 7, i % 2 + 1) for i in range(20)),
    "moment-target.csv": b"a,y\n" + b"".join(b"%d,2020-01-%02d 10:00:00\n" % (i * i % 7, i + 1) for i in range(20)),
    "infinite.csv": b"a,y\n1,u\ninf,v\n3,u\n4,v\n",
    "gzip.csv.gz": gzip.compress(b"a,y\n1,u\n" * 1000)[:40],
    "numbers.csv": b"1,2,3\n4,5,6\n7,8,9\n",
    "only.csv": b"y\nu\nv\nu\nv\n",
}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.csv", "there is no such file"),
        ("empty.csv", "is empty"),
        ("blank.csv", "is empty"),
        ("header.csv", "no rows"),
        ("ragged.csv", "ragged: line 3 has 2 fields, the header has 3"),
        ("wide.csv", "ragged: line 2 has 4 fields"),
        ("latin1.csv", "not UTF-8"),
        ("twice.csv", "2 columns named 'a'"),
        ("one.csv", "one value only, 'u'"),
        ("dates.csv", "column 'when' holds dates such as '01/01/2020', which may have the day or the month first"),
        ("date-target.csv", "the target 'y' holds dates"),
        ("moment-target.csv", "the target 'y' holds dates"),
        ("infinite.csv", "column 'a' holds infinite values"),
        ("gzip.csv.gz", "damaged"),
        ("numbers.csv", "its first line holds numbers"),
        ("only.csv", "no column left to predict from"),
        (".", "is a directory"),
    ],
)
def test_bad_files_are_named_in_one_sentence(command, tmp_path, name, sentence):
    if name in BAD_FILES:
        (tmp_path / name).write_bytes(BAD_FILES[name])
    code, out, err = command("estimate", tmp_path / name, "--target", "y")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("unit", ["datetime64[ns]", "timedelta64[ns]"])
def test_a_parquet_target_of_dates_or_durations_is_refused(command, tmp_path, unit):
    days = np.tile([1, 2], 10) * 86_400_000_000_000
    pd.DataFrame({"a": np.arange(20) ** 2 % 7, "y": days.astype(unit)}).to_parquet(tmp_path / "t.parquet")
    code, out, err = command("estimate", tmp_path / "t.parquet", "--target", "y")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the target 'y' holds dates or times" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--target", "specis"), "no column 'specis'; did you mean 'species'?"),
        (("--target", "SPECIES"), "did you mean 'species'?"),
        (("--target", "species", "--model", "tre"), "model 'tre' is unknown"),
        (("--target", "species", "--model", "lasso"), "'lasso' does not do classification; use one of tree, knn"),
        (("--target", "species", "--model", "sklearn.tree.Nothing"), "has no 'Nothing'"),
        (("--target", "species", "--model", "no.such.Thing"), "there is no module 'no.such'"),
        (("--target", "species", "--model", "os.path.join"), "not a class"),
        (("--target", "species", "--set", "max_leafs=3"), "has no parameter 'max_leafs'; did you mean"),
        (("--target", "species", "--set", "max_leaf_nodes"), "--set takes name=value"),
        (("--target", "species", "--set", "max_leaf_nodes=-3"), "max_leaf_nodes"),
        (("--target", "species", "--criterion", "permutations"), "did you mean 'permutation'?"),
        (("--target", "species", "--criterion", "kfold:folds=3"), "kfold takes"),
        (("--target", "species", "--loss", "nothing"), "nothing"),
        (("--target", "species", "--task", "clustering"), "--task must be one of"),
        (("--target", "species", "--task", "regression"), "holds words"),
        (("--target", "species", "--positive", "rose"), "never is 'rose'"),
        (("--target", "species", "--jobs", "0"), "n_jobs"),
        (("--target", "species", "--jobs", "many"), "Invalid value for '--jobs'"),
        ((), "--target"),
        (("--target", "species", "--nonsense"), "--nonsense"),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(command, tables, arguments, sentence):
    code, out, err = command("estimate", tables / "iris.csv", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("select",), "--grid is needed"),
        (("select", "--grid", "max_leaf_nodes=50:2"), "runs upwards"),
        (("select", "--grid", "max_depth=0..3"), "positive numbers"),
        (("select", "--grid", "max_leaf_nodes=2:4", "--rule", "least"), "rule 'least' is unknown"),
        (("compare", "--criteria", ","), "at least one criterion"),
        (("test", "--draws", "0"), "n_draws"),
    ],
)
def test_bad_settings_of_other_commands(command, tables, arguments, sentence):
    first, *rest = arguments
    code, _, err = command(first, tables / "iris.csv", "--target", "species", *rest)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_installed_command_says_one_sentence_and_debug_shows_more(tables):
    arguments = ("estimate", tables / "iris.csv", "--target", "specie")
    code, out, err = installed(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err == "outsample: the table has no column 'specie'; did you mean 'species'?\n"
    code, _, err = installed(*arguments, "--debug")
    assert code == 2
    assert "Traceback" in err


def test_installed_command_warns_in_one_sentence(tables):
    grid = ["--model", "knn", "--grid", "n_neighbors=1:160", "--criterion", "resubstitution"]
    code, out, err = installed("select", tables / "iris.csv", "--target", "species", *grid)
    assert code == 0
    assert "chosen among 160 candidates" in out
    (warned,) = [line for line in err.splitlines() if "warning" in line.lower()]
    assert warned.startswith("outsample: warning: {'n_neighbors': 160} was rejected, and 9 more: KNeighborsClassifier")


def test_a_warning_is_said_once(capsys):
    show = OncePerSentence()
    for text in ("lbfgs failed\nto converge.", "lbfgs failed to converge", "something else"):
        show(UserWarning(text), UserWarning, "file", 1)
    assert (
        capsys.readouterr().err == "outsample: warning: lbfgs failed to converge\noutsample: warning: something else\n"
    )


def test_unexpected_errors_have_their_own_code(command, tables, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(outsample, "estimate", broken, raising=False)
    code, _, err = command("estimate", tables / "iris.csv", "--target", "species")
    assert code == 1
    assert err == "outsample: unexpected ZeroDivisionError: a bug (--debug shows where)\n"


def test_many_rows_in_bounded_memory(tmp_path):
    rows = 100_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)).round(3), columns=list("abcd"))
    frame["kind"] = rng.choice(["red", "green", "blue"], rows)
    frame["y"] = np.where(frame["a"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "many.csv", index=False)
    code = (
        "import resource, sys; from outsample.cli.tables import read_table; import pandas, numpy\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "frame = read_table(sys.argv[1])\n"
        "print(len(frame), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, frame['kind'].dtype)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "many.csv"], capture_output=True, text=True, timeout=120
    )
    count, kilobytes, kind = done.stdout.split()
    size = (tmp_path / "many.csv").stat().st_size
    assert (int(count), kind) == (rows, "category")
    assert int(kilobytes) * 1024 < 10 * size


# What comes with it


def test_datasets_feed_the_other_commands(command):
    assert "iris" in command("datasets")[1]
    code, out, _ = command("datasets", "breast-cancer")
    assert code == 0
    assert len(out.splitlines()) == 570
    assert out.splitlines()[1].endswith("malignant")
    assert command("datasets", "irs")[2] == (
        "outsample: data set 'irs' is unknown: use one of breast-cancer, iris, wine, digits, diabetes; "
        "did you mean 'iris'?\n"
    )


def test_reproduce_says_where_the_studies_are(command):
    for more in ([], ["table6", "--quick"]):
        code, out, _ = command("reproduce", *more)
        assert code == 0
        assert "python -m studies" in out


def test_warmup_compiles_every_kernel(command):
    code, out, _ = command("warmup")
    assert code == 0
    assert {"trees", "votes", "coordinate_descent"} <= {line.partition(":")[0] for line in out.splitlines()}


def test_the_demo_shows_the_swap_on_three_tables_and_writes_a_report(tmp_path):
    code, out, err = installed("demo", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert (tmp_path / "outsample-demo.html").as_uri() in out
    assert "<svg" in (tmp_path / "outsample-demo.html").read_text(encoding="utf-8")
    results = [line.split() for line in out.splitlines() if re.fullmatch(r"[\d.\s-]+", line) and len(line.split()) == 6]
    assert len(results) == 3
    for usual, fits, _, ours, our_fits, _ in results:
        assert 20 * int(our_fits) < int(fits)
        assert float(ours) > float(usual) - 0.02
    assert out.count("these rows gave") == 3


def test_answers_come_in_the_order_in_which_they_are_wanted(command, tables):
    grid = ("--grid", "max_leaf_nodes=2:9", "--criterion", "kfold:cv=3")
    code, out, _ = command("select", tables / "iris.csv", "--target", "species", *grid)
    assert code == 0
    first = [line.split()[0] for line in out.splitlines() if line[:1].isupper()]
    assert first[:3] == ["Use", "Expect", "As"]
    assert out.splitlines()[0].startswith("Use ")
    assert "max_leaf_nodes = " in out.splitlines()[0]
    assert "model__" not in out


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_picture_is_written(command, tables, tmp_path, kind):
    picture = tmp_path / f"picture.{kind}"
    grid = ("--grid", "max_leaf_nodes=2,4", "--grid", "min_samples_leaf=1,5", "--criterion", "kfold:cv=3")
    code, _, _ = command("select", tables / "iris.csv", "--target", "species", *grid, "--plot", picture)
    assert code == 0
    assert picture.read_bytes()[:5] == {"png": b"\x89PNG\r", "svg": b"<?xml", "pdf": b"%PDF-"}[kind]


def test_a_picture_of_an_unknown_kind_is_refused_before_any_work(command, tables):
    code, out, err = command("estimate", tables / "iris.csv", "--target", "species", "--plot", "picture.doc")
    assert (code, out) == (2, "")
    assert "the name of a picture ends in .png, .svg or .pdf" in err


def test_report_that_cannot_be_written(command, tables, tmp_path):
    target = tmp_path / "nowhere" / "report.html"
    for option, path in (("--report", target), ("--plot", target.with_suffix(".png")), ("--report", tmp_path)):
        code, out, err = command("estimate", tables / "iris.csv", "--target", "species", option, path)
        assert (code, out) == (2, "")
        assert err.startswith(f"outsample: {option} {path}: "), "nothing is read before"
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("estimate", "--set", "max_depth=" + "9" * 20), "--set max_depth=9+: 9+ is too large; whole numbers go up to"),
        (("estimate", "--set", f"max_depth=({'9' * 30},)"), "is too large; whole numbers go up to"),
        (("select", "--grid", "max_depth=2," + "9" * 20), "--grid max_depth=2,9+: 9+ is too large"),
        (("select", "--grid", "ccp_alpha=1e-320..1"), "--grid ccp_alpha=1e-320..1: a logarithmic range runs upwards"),
        (("select", "--grid", "ccp_alpha=1..1e999"), "a logarithmic range runs upwards between positive numbers"),
        (("select", "--grid", "ccp_alpha=0:1:1e-320"), "a range has finite ends and a step that is not too small"),
        (("select", "--grid", "ccp_alpha=0:1e999"), "a range has finite ends"),
        (
            ("select", "--grid", "max_depth=1:100000", "--grid", "max_leaf_nodes=1:100000"),
            "--grid has 10000000000 candidates in all; at most 100000 are tried",
        ),
    ],
)
def test_numbers_beyond_all_bounds_are_refused_in_one_sentence(command, tables, arguments, sentence):
    code, out, err = command(arguments[0], tables / "iris.csv", "--target", "species", *arguments[1:])
    assert (code, out) == (2, "")
    assert re.search(sentence, err)
    assert err.count("\n") == 1


def test_a_grid_over_all_doubles_keeps_its_ends():
    assert values_of("1e-300..1e300:3") == [1e-300, 1.0, 1e300]
    assert len(values_of("1e-300..1e300")) == 3001


@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom"])
def test_devices_that_never_end_are_refused(source):
    with open(source, "rb") as stream:
        for file, given in ((source, None), ("-", stream)):
            arguments = [COMMAND, "estimate", file, "--target", "y"]
            done = subprocess.run(arguments, stdin=given, capture_output=True, timeout=60)
            assert done.returncode == 2
            assert done.stderr.endswith(b" is a device, not a file with a table\n")


def test_characters_that_are_no_text_are_refused(command, tmp_path):
    (tmp_path / "nul.csv").write_bytes(b"a\0b,y\n1,2\n")
    code, out, err = command("estimate", tmp_path / "nul.csv", "--target", "y")
    assert (code, out) == (2, "")
    assert err.endswith("nul.csv is not text: line 1 has a NUL character\n")


def test_columns_without_names_are_columns(command, tables, tmp_path):
    frame = pd.read_csv(tables / "iris.csv")
    frame.set_axis(["", "", *frame.columns[2:]], axis=1).to_csv(tmp_path / "two.csv", index=False)
    answers = [
        json.loads(command("estimate", path, "--target", "species", "--json")[1])["estimate"]["out_sample"]
        for path in (tmp_path / "two.csv", tables / "iris.csv")
    ]
    assert answers[0] == answers[1]


def test_two_columns_of_one_name_in_parquet_are_refused(command, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    column = pa.array([1.0, 2.0, 3.0])
    parquet.write_table(pa.Table.from_arrays([column] * 3, names=["", " ", "y"]), tmp_path / "two.parquet")
    code, out, err = command("estimate", tmp_path / "two.parquet", "--target", "y")
    assert (code, out) == (2, "")
    assert "has 2 columns named ''; names must differ" in err


def _linked(path, how, name):
    """Another name of a file, or the file itself."""
    if how == "itself":
        return path
    other = path.with_name(name)
    (other.symlink_to if how == "a symbolic link" else other.hardlink_to)(path)
    return other


@pytest.mark.parametrize("how", ["itself", "a symbolic link", "a hard link"])
@pytest.mark.parametrize(
    ("question", "option", "name"),
    [
        (("estimate",), "--report", "r.html"),
        (("estimate",), "--plot", "p.png"),
        (("select", "--grid", "max_leaf_nodes=2:3"), "--report", "r.html"),
        (("select", "--grid", "max_leaf_nodes=2:3"), "--store", "s.db"),
        (("compare",), "--report", "r.html"),
        (("models",), "--plot", "p.svg"),
        (("test",), "--report", "r.html"),
    ],
)
def test_no_output_is_an_input(command, tables, tmp_path, question, option, name, how):
    table = tmp_path / ("mine.png" if option == "--plot" else "mine.csv")
    before = (tables / "iris.csv").read_bytes()
    table.write_bytes(before)
    written = _linked(table, how, name)
    code, out, err = command(question[0], table, "--target", "species", *question[1:], option, written)
    assert (code, out) == (2, "")
    assert err == f"outsample: {option} {written}: this file is read, and would be overwritten; name another one\n"
    assert table.read_bytes() == before


def test_no_output_of_an_audit_is_its_script_or_its_table(command, tables, tmp_path):
    script, table = tmp_path / "mine.py", tmp_path / "mine.csv"
    script.write_text("raise AssertionError('run')")
    table.write_bytes((tables / "iris.csv").read_bytes())
    for path in (script, table):
        before = path.read_bytes()
        code, out, err = command("audit", script, table, "--target", "species", "--report", path)
        assert (code, out) == (2, "")
        assert "would be overwritten" in err
        assert path.read_bytes() == before


def test_standard_input_is_not_overwritten(tables, tmp_path):
    table = tmp_path / "mine.csv"
    before = (tables / "iris.csv").read_bytes()
    table.write_bytes(before)
    with table.open("rb") as stream:
        arguments = [COMMAND, "estimate", "-", "--target", "species", "--report", table]
        done = subprocess.run(arguments, stdin=stream, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"would be overwritten" in done.stderr
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("report", "store"), [("one", "one"), ("./one", "one"), ("store-wal", "store"), ("link", "one")]
)
def test_two_outputs_are_two_files(command, tables, tmp_path, monkeypatch, report, store):
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("one")
    grid = ("--grid", "max_leaf_nodes=2:3", "--report", report, "--store", store)
    code, out, err = command("select", tables / "iris.csv", "--target", "species", *grid)
    assert (code, out) == (2, "")
    assert f"--report {report} and --store {store} are the same file; name two" in err
    assert not Path("one").exists()


def test_a_file_that_is_no_page_is_not_overwritten_by_one(command, tables, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    code, out, err = command("estimate", tables / "iris.csv", "--target", "species", "--report", other)
    assert (code, out) == (2, "")
    assert "is there already and is no HTML page" in err
    found = outsample.compare(DecisionTreeClassifier(), *IRIS, criteria=["resubstitution"], random_state=0)
    with pytest.raises(ValueError, match=r"path .*other\.csv: this file is there already and is no HTML page"):
        found.to_html(other)
    assert other.read_text() == "a,b\n1,2\n"
    for _ in range(2):
        found.to_html(tmp_path / "page")
    assert "<!doctype html>" in (tmp_path / "page").read_text()


# Nothing heavy before it is needed


def _processor_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def test_help_costs_little_more_than_a_bare_interpreter():
    # Processor time: on a machine that others use too, wall time says nothing.
    bare = statistics.median(_processor_seconds(sys.executable, "-c", "pass") for _ in range(5))
    asked = statistics.median(_processor_seconds(COMMAND, "--help") for _ in range(5))
    assert asked - bare < 0.4


def test_help_of_every_command_loads_no_heavy_module():
    code = (
        "import sys\nfrom outsample import cli\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'numba', 'matplotlib', 'jinja2'}\n"
        "for name in sys.argv[1:]:\n    cli.app([name, '--help'], standalone_mode=False)\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    names = ["estimate", "select", "models", "compare", "test", "audit", "reproduce", "demo", "datasets", "warmup"]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "--criterion" in done.stdout


def test_completion_is_offered():
    environment = os.environ | {"_OUTSAMPLE_COMPLETE": "complete_bash", "COMP_WORDS": "outsample es", "COMP_CWORD": "1"}
    done = subprocess.run([COMMAND], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["estimate"]


def test_public_names_are_those_that_are_listed():
    assert sorted(outsample.__all__) == dir(outsample)
    assert all(hasattr(outsample, name) for name in outsample.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        outsample.nothing
