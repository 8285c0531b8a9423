"""Progress through the callbacks of scikit-learn 1.9 and later; older versions have none, and then nothing is said.

`Tasks` tells callbacks of scikit-learn how far work of ours is; `FitsDone` is a callback that tells our progress how
far a loop of scikit-learn is.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from outsample.running.progress import Progress, silent

EVALUATION = "candidate-split-evaluation"


def watched(search: Any) -> bool:
    """Whether callbacks are set on a search, on its estimator, or on anything that is a parameter of it."""
    return any("_skl_callbacks" in getattr(each, "__dict__", {}) for each in (search, *search.get_params().values()))


def unwatched(search: Any) -> Any:
    """The search without callbacks of its own."""
    if hasattr(search, "set_callbacks"):
        search.set_callbacks()
    return search


class Tasks:
    """Progress that is passed on, and shown to callbacks as tasks below a context: one per fit.

    Work that is reported in several stretches, each counted from its beginning, becomes several tasks with subtasks.

    Parameters
    ----------
    estimator : whose fit it is.
    context : a `sklearn.callback.CallbackContext` without subtasks yet, None where there are no callbacks.
    then : told as well.
    """

    def __init__(self, estimator: BaseEstimator, context: Any, then: Progress) -> None:
        self._estimator, self._then = estimator, then
        self._search = None if context is None else self._opened(context, "search", None)
        self._stretch: Any = None
        self._done = self._planned = 0

    def __call__(self, done: int, planned: int) -> None:
        self._then(done, planned)
        if self._search is None:
            return
        if self._stretch is None or done < self._done:
            self._close_stretch()
            self._stretch, self._done, self._planned = self._opened(self._search, "fits", planned), 0, planned
        for _ in range(self._done, min(done, self._planned)):
            self._closed(self._opened(self._stretch, "fit", 0))
        self._done = done

    def close(self) -> None:
        """The work is done."""
        if self._search is not None:
            self._close_stretch()
            self._closed(self._search)

    def _close_stretch(self) -> None:
        if self._stretch is not None:
            self._closed(self._stretch)

    def _opened(self, parent: Any, name: str, planned: int | None) -> Any:
        return parent.subcontext(task_name=name, max_subtasks=planned).call_on_fit_task_begin(estimator=self._estimator)

    def _closed(self, context: Any) -> None:
        context.call_on_fit_task_end(estimator=self._estimator)


class FitsDone:
    """A callback that counts the fits of scikit-learn's own search, as far as they are done in this process."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def __getstate__(self) -> dict[str, Any]:
        # Workers in other processes get a copy, which has nobody to tell.
        return {"_progress": silent, "_done": 0}

    def setup(self, estimator: BaseEstimator, context: Any) -> None:
        """The search begins."""
        self._done = 0

    def teardown(self, estimator: BaseEstimator, context: Any) -> None:
        """The search is over."""

    def on_fit_task_begin(self, estimator: BaseEstimator, context: Any) -> None:
        """A task begins."""

    def on_fit_task_end(self, estimator: BaseEstimator, context: Any) -> None:
        """A task is done; those that fit a candidate to the rows of a split count."""
        if context.task_name == EVALUATION and context.parent.max_subtasks:
            self._done += 1
            self._progress(self._done, context.parent.max_subtasks)
