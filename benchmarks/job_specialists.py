"""The specialists: what an expert would write for one job. A function's body is what counts as lines of code."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDS = 5
Answer = tuple[Any, float, str]


def lgb_cv(job: Any, X: Any, y: Any) -> Answer:
    """lgb.cv for every pair of leaves and rate, the number of trees read off its curve."""
    import lightgbm as lgb

    best = (-np.inf, {}, 0)
    for leaves in job.grid["num_leaves"]:
        for rate in job.grid["learning_rate"]:
            params = {"objective": "binary", "metric": "auc", "num_leaves": leaves, "learning_rate": rate}
            params |= {"verbose": -1, "num_threads": 1}
            curve = lgb.cv(params, lgb.Dataset(X, y), max(job.grid["n_estimators"]), nfold=FOLDS)["valid auc-mean"]
            for trees in job.grid["n_estimators"]:
                if curve[trees - 1] > best[0]:
                    best = (curve[trees - 1], {"num_leaves": leaves, "learning_rate": rate}, trees)
    model = job.model().set_params(n_estimators=best[2], **best[1]).fit(X, y)
    return model, FOLDS * 6 + 1, f"{best[1]}, {best[2]} trees"


def logistic_cv(job: Any, X: Any, y: Any) -> Answer:
    """LogisticRegressionCV with its warm starts, once for each penalty: its liblinear takes one at a time."""
    from sklearn.linear_model import LogisticRegressionCV

    options = {"Cs": job.grid["logisticregression__C"], "cv": FOLDS, "scoring": job.scoring}
    models = [
        make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(solver="liblinear", l1_ratios=[ratio], use_legacy_attributes=False, **options),
        ).fit(X, y)
        for ratio in job.grid["logisticregression__l1_ratio"]
    ]
    best = max(models, key=lambda model: np.mean(model[-1].scores_, axis=0).max())
    return best, FOLDS * job.n_settings + 2, f"C = {best[-1].C_}, l1_ratio = {best[-1].l1_ratio_}"


def faiss_neighbors(job: Any, X: Any, y: Any) -> Answer:
    """FAISS once per fold for the longest list of neighbours, votes of all k from it."""
    import faiss

    most, wrong = max(job.grid["kneighborsclassifier__n_neighbors"]), 0.0
    faiss.omp_set_num_threads(1)
    for train, test in StratifiedKFold(FOLDS).split(X, y):
        scaler = StandardScaler().fit(X[train])
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(scaler.transform(X[train]).astype(np.float32))
        nearest = y[train][index.search(scaler.transform(X[test]).astype(np.float32), most)[1]]
        votes = np.stack([np.cumsum(nearest == c, axis=1) for c in np.unique(y)])
        wrong = wrong + (votes.argmax(axis=0) != y[test][:, None]).mean(axis=0) / FOLDS
    k = int(np.argmin(wrong)) + 1
    return job.model().set_params(kneighborsclassifier__n_neighbors=k).fit(X, y), FOLDS + 1, f"k = {k}"


def ridge_cv(job: Any, X: Any, y: Any) -> Answer:
    """RidgeCV: exact leave-one-out, behind one scaler of all rows."""
    from sklearn.linear_model import RidgeCV

    model = make_pipeline(StandardScaler(), RidgeCV(job.grid["ridge__alpha"])).fit(X, y)
    return model, 1, f"alpha = {model[-1].alpha_}"


def cv_matrix(job: Any, X: Any, y: Any) -> Answer:
    """cvmatrix: XᵀX and Xᵀy of every training set by updating, then all alphas from one eigendecomposition each."""
    from cvmatrix.cvmatrix import CVMatrix
    from cvmatrix.partitioner import Partitioner

    alphas, risk = job.grid["ridge__alpha"], 0.0
    parts = Partitioner(np.arange(len(y)) % FOLDS)
    matrix = CVMatrix(center_X=True, center_Y=True, scale_X=True, scale_Y=False)
    matrix.fit(X, y[:, None])
    for fold in range(FOLDS):
        rows = parts.get_validation_indices(fold)
        (XtX, Xty), (mean, scale, y_mean, _) = matrix.training_XTX_XTY(rows)
        values, vectors = np.linalg.eigh(XtX)
        weights = vectors @ ((vectors.T @ Xty) / (values[:, None] + alphas))
        left_out = (X[rows] - mean) / scale @ weights + y_mean
        risk = risk + np.square(y[rows][:, None] - left_out).mean(axis=0) / FOLDS
    alpha = float(alphas[np.argmin(risk)])
    return job.model().set_params(ridge__alpha=alpha).fit(X, y), FOLDS + 1, f"alpha = {alpha}"


def lasso_cv(job: Any, X: Any, y: Any) -> Answer:
    """LassoCV behind columns that were encoded once, on all training rows."""
    from sklearn.linear_model import LassoCV

    model = job.model().set_params(lasso=LassoCV(alphas=job.grid["lasso__alpha"], cv=FOLDS, max_iter=2000)).fit(X, y)
    return model, FOLDS * job.n_settings + 1, f"alpha = {model[-1].alpha_}"


SPECIALISTS: dict[str, Callable[[Any, Any, Any], Answer]] = {
    "lgb.cv": lgb_cv,
    "LogisticRegressionCV": logistic_cv,
    "FAISS": faiss_neighbors,
    "RidgeCV": ridge_cv,
    "cvmatrix": cv_matrix,
    "LassoCV": lasso_cv,
}


class NoRError(Exception):
    """R or a package of it is not installed."""


R_CODE = {
    "ranger": """
best <- NULL
for (m in c(floor(sqrt(p)), floor(p / 2), p)) for (leaf in c(1, 3, 10)) for (depth in c(4, 8, 0)) {
  fit <- ranger(target ~ ., train, num.trees = 100, mtry = m, min.node.size = leaf, max.depth = depth,
                probability = TRUE, num.threads = 1, seed = 0)
  if (is.null(best) || fit$prediction.error < best$prediction.error) best <- fit
}
said <- predict(best, test)$predictions[, "1"]
""",
    "rpart": """
fit <- rpart(target ~ ., train, method = "class", control = rpart.control(cp = 0.0005, xval = 10))
best <- prune(fit, cp = fit$cptable[which.min(fit$cptable[, "xerror"]), "CP"])
said <- predict(best, test)[, "1"]
""",
}
R_FITS = {"ranger": 27.0, "rpart": 11.0}


def in_r(name: str, job: Any, X: Any, y: Any) -> Callable[[Any, Any], tuple[float, float]]:
    """A function that searches in R and gives (AUC on new rows, processor seconds of the search)."""
    if shutil.which("Rscript") is None:
        raise NoRError("R is not installed")
    encode = job.model()[:-1].fit(X, y).transform if hasattr(job.model(), "steps") else np.asarray

    def scored(X_new: Any, y_new: Any) -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as kept:
            for part, columns, labels in (("train", encode(X), y), ("test", encode(X_new), y_new)):
                frame = pd.DataFrame(columns, columns=[f"x{i}" for i in range(columns.shape[1])])
                frame.assign(target=labels).to_csv(Path(kept, f"{part}.csv"), index=False)
            script = (
                f'suppressMessages(library({name})); train <- read.csv("train.csv"); test <- read.csv("test.csv")\n'
                "train$target <- factor(train$target); p <- ncol(train) - 1; set.seed(0); start <- proc.time()\n"
                f"{R_CODE[name]}\n"
                'took <- sum((proc.time() - start)[c("user.self", "sys.self")])\n'
                'write.csv(data.frame(said = said), "said.csv", row.names = FALSE); cat(took)\n'
            )
            done = subprocess.run(["Rscript", "-e", script], cwd=kept, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NoRError((done.stderr.strip().splitlines() or ["R failed"])[-1])
            score = float(roc_auc_score(y_new, pd.read_csv(Path(kept, "said.csv"))["said"]))
            return score, float(done.stdout.split()[-1])

    return scored
