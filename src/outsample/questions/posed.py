"""A search put to our own evidence: checked, then run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion
from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.left_out import LARGEST_TABLE
from outsample.curve.risk_curve import Rule
from outsample.data.learners import FitError
from outsample.data.tables import Table
from outsample.evidence.rows import guess_left_out
from outsample.problem import Question, ask
from outsample.questions.contest import Outcome, choice, judged, outcome_of, problems_of
from outsample.questions.endless import Endless, scan
from outsample.questions.honest import honest_score
from outsample.running.fits import counted_fits
from outsample.running.progress import Progress
from outsample.running.run import RandomState
from outsample.running.store import Store, StorePath
from outsample.running.units import fingerprint

if TYPE_CHECKING:
    from outsample.questions.asked import Metadata, Settings


@dataclass(frozen=True, eq=False)
class Posed:
    """Candidates, the criterion and the rule, and the question that each metric asks of them.

    Attributes
    ----------
    questions : by the name of the metric.
    chosen_by : the name of the metric that decides.
    learner : the estimator, with placeholder steps of pipelines filled in.
    default : position of the estimator's own setting, None where it does not take part.
    own : the estimator's own setting, to be tried beside the candidates; None where it is not.
    """

    questions: Mapping[str, Question]
    chosen_by: str
    estimator: BaseEstimator
    learner: BaseEstimator
    settings: Settings
    criterion: Criterion
    rule: Rule
    fast: bool = True
    error_score: float | str = np.nan
    default: int | None = None
    own: dict[str, Any] | None = None

    @property
    def question(self) -> Question:
        """The question of the metric that decides."""
        return self.questions[self.chosen_by]

    def told(self, progress: Progress, store: Store | None) -> Posed:
        """The same search with somebody to tell how far it is, and a place to keep what is finished."""
        questions = {}
        for name, question in self.questions.items():
            run = replace(question.run, progress=progress)
            run = run if store is None else store.attach(run, partial(self._facts, question))
            questions[name] = replace(question, run=run)
        return replace(self, questions=questions)

    def outcomes(self) -> dict[str, Outcome]:
        """What every metric says, by its name."""
        if isinstance(self.settings, Endless) and len(self.questions) > 1:
            raise ValueError(
                f"param_grid: {self.settings.parameter} has no last value, and each metric would end the walk "
                "elsewhere; name one metric"
            )
        found = {}
        for name, question in self.questions.items():
            with counted_fits() as spent:
                outcome = _beside_guessing(self._outcome(question), question)
            found[name] = replace(outcome, curve=replace(outcome.curve, n_fits=spent.n_fits))
        return found

    def _outcome(self, question: Question) -> Outcome:
        if isinstance(self.settings, Endless):
            return scan(question, self.estimator, self.settings, self.criterion, self.rule)
        both = None if self.own is None else self._beside_own(question, self.settings, self.own)
        if both is not None:
            return both
        found = outcome_of(
            question,
            self.estimator,
            self.settings,
            self.criterion,
            self.rule,
            self.fast,
            self.error_score,
            self.default,
        )
        return replace(found, default=self.default)

    def _beside_own(self, question: Question, settings: list[dict[str, Any]], own: dict[str, Any]) -> Outcome | None:
        """The outcome with the losses of the estimator's own setting, where one fit tells about it and all candidates.

        None where it does not, where some setting fails, or where the table of losses would become too large to be
        kept.
        """
        if not self.fast or (len(settings) + 1) * question.n_samples > LARGEST_TABLE:
            return None
        posed = problems_of(question, self.estimator, [*settings, own])
        problem, branch = posed[0]
        one_path = len(posed) == 1 and len(branch.path.pieces()) == 1 and branch.path.ordered and not branch.path.refits
        if not one_path or not self.criterion.reads_all_off_one_fit(problem):
            return None
        try:
            curve, positions, taken = judged(posed, self.criterion, "raise")
        except (FitError, ValueError, TypeError):
            return None
        candidates, model = np.flatnonzero(positions < len(settings)), np.flatnonzero(positions == len(settings))
        reference = None if curve.left_out is None else curve.left_out.take(model)
        curve, positions = curve.take(candidates), positions[candidates]
        best = choice(curve, positions, taken, self.rule)
        return Outcome(curve, positions, best, self.error_score, self.default, reference)

    def _facts(self, question: Question) -> dict[str, Any]:
        """What tells this search from others, for its store."""
        data, settings = question.data, self.settings
        return {
            "data": joblib.hash((data.X, data.y, data.weight, data.groups)),
            "estimator": f"{type(self.estimator).__qualname__} {fingerprint(self.estimator)}",
            "grid": fingerprint(settings) if isinstance(settings, list) else "open-ended",
            "criterion": f"{self.criterion.name} {fingerprint(self.criterion)}",
            "loss": f"{question.loss.name} {fingerprint(question.loss)}",
        }

    @property
    def same_digits(self) -> bool:
        """Whether fast paths serve every candidate and give scikit-learn's own numbers to 1e-12."""
        if isinstance(self.settings, Endless):
            return False
        return all(
            branch.path.same_digits
            for question in self.questions.values()
            for _, branch in problems_of(question, self.estimator, self.settings)
        )


@dataclass
class Told:
    """What scikit-learn's loop is told: the search put to our evidence, and what it found.

    Attributes
    ----------
    prototype : a clone of the search, to be fitted where its error as a whole is asked for.
    train : whether scores of the rows fitted are asked for.
    evaluated : whether the loop is over, so that what is fitted next is the chosen model.
    """

    posed: Posed
    prototype: Any = None
    train: bool = False
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    honest_score: ErrorEstimate | None = None
    evaluated: bool = False

    @property
    def outcome(self) -> Outcome:
        """What the metric that decides says."""
        return self.outcomes[self.posed.chosen_by]

    def find(self, honesty: str | None) -> None:
        """Run the search, unless its outcome is known already."""
        self.outcomes = self.outcomes or self.posed.outcomes()
        if honesty is not None:
            self.honest_score = honest_score(
                honesty, self.prototype, self.posed.learner, self.posed.question, self.outcome
            )


def _beside_guessing(outcome: Outcome, question: Question) -> Outcome:
    """The outcome with what is lost by those who do not look at X."""
    loss, y, weight, table = question.loss, question.y, question.weight, outcome.curve.left_out
    constant = None if table is None else guess_left_out(loss, y, weight, table)
    sizes = None if table is None else table.sizes_of_sets
    return replace(outcome, guessing=loss.guessing(y, weight, sizes), constant=constant)


def questions_of(
    learner: BaseEstimator,
    X: Table,
    y: Any,
    metadata: Metadata,
    losses: Mapping[str, Any],
    random_state: RandomState,
    n_jobs: int | None,
) -> dict[str, Question]:
    """The question that each metric asks, by its name; all of them share their randomness."""
    questions: dict[str, Question] = {}
    for name, loss in losses.items():
        first = next(iter(questions.values()), None)
        questions[name] = ask(
            learner,
            X,
            y,
            loss=loss,
            sample_weight=metadata.sample_weight,
            groups=metadata.groups,
            random_state=random_state if first is None else first.run.seed,
            n_jobs=n_jobs,
        )
    return questions


def opened(store: StorePath) -> Any:
    """The store as a context, which gives None where nothing is to be kept."""
    return nullcontext() if store is None else Store(store)
