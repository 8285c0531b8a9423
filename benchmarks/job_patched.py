"""GridSearchCV patched by scikit-learn-intelex, on one job and division: `python job_patched.py JOB SPLIT`."""

from __future__ import annotations

import json
import sys
import time
import warnings

from sklearnex import patch_sklearn

patch_sklearn(verbose=False)

from job_tables import JOBS  # noqa: E402
from jobs import MOST_TRAINED  # noqa: E402
from sklearn.metrics import get_scorer  # noqa: E402
from sklearn.model_selection import GridSearchCV, train_test_split  # noqa: E402

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    job = next(job for job in JOBS if job.name == sys.argv[1])
    X, y = job.load()
    X_train, X_test, y_train, y_test = train_test_split(
        X,
        y,
        train_size=min(MOST_TRAINED, 2 * len(y) // 3),
        test_size=min(MOST_TRAINED, len(y) // 3),
        stratify=y if job.classification else None,
        random_state=int(sys.argv[2]),
    )
    start = time.process_time()
    search = GridSearchCV(job.model(), job.grid, scoring=job.scoring, cv=5).fit(X_train, y_train)
    seconds = time.process_time() - start
    score = get_scorer(job.scoring)(search, X_test, y_test)
    print(json.dumps({"seconds": seconds, "score": float(score), "chosen": str(search.best_params_)}))
