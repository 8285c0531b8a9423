"""Figures 1 and 2: eighteen faces, men and women, a rule learned from them, and one learned from permuted labels.

The paper shows photographs. Here a face has three features, and a learner takes the pair of features of which "this or
that is female" is wrong least often. The faces are such that it learns what the paper's learner did: from the real
labels "roundish face or long hair", wrong on 2, and from the permuted ones shown "dark skin or long hair", wrong on 6.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from outsample.losses.pointwise import ZeroOneLoss
from outsample.running.arrays import Array, Floats
from outsample.running.progress import Progress
from outsample.running.run import child_generator
from outsample.studies.result import Draw, File, Finding, StudyResult, save
from outsample.studies.study import study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEATURES = ("roundish face", "long hair", "dark skin")
FACES = np.array(
    [
        *([0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]),
        *([1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 0, 0]),
    ]
)
"""(18, features), nine men before nine women."""
FEMALE = np.repeat([0, 1], 9)
SHOWN = np.array([1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0])
"""Permuted labels, those of the picture."""
PAIRS = tuple(itertools.combinations(range(len(FEATURES)), 2))
PRINTED = {"e_in": 0.11, "permuted e_in": 0.33, "optimism": 0.17, "e_out": 0.28}


def learned(Y: Array) -> tuple[Array, Array]:
    """(number of the pair of features, predicted labels) for every label vector of Y (draws, 18): the fewest errors."""
    rules = np.array([FACES[:, a] | FACES[:, b] for a, b in PAIRS])
    best = np.argmin((Y[:, None] != rules).sum(axis=2), axis=1)
    return best, rules[best]


@study("permutations", n=10_000)
def figure1(
    n: int = 10_000,
    seed: int = 0,
    store: File = None,
    data_home: File = None,
    out: File = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Eighteen faces and a permutation of their labels: 11 % + 17 % = 28 %.

    Parameters
    ----------
    n : permutations averaged beside the one that is drawn.
    seed : of the permutations.
    out : folder to write to, or None.
    store, data_home, n_jobs, progress : not used, it takes a second.
    """
    loss, rng = ZeroOneLoss(), child_generator(np.random.SeedSequence(seed), 0)
    labels = np.stack([FEMALE, SHOWN, *rng.permuted(np.broadcast_to(FEMALE, (n, len(FEMALE))), axis=1)])
    pairs, said = learned(labels)
    e_in = float(loss.risk(FEMALE, said[0]))
    permuted = np.array([float(loss.risk(y, rule)) for y, rule in zip(labels[1:], said[1:], strict=True)])
    optimism = np.asarray(loss.crossed_mean(FEMALE, said[1:])) - permuted
    findings = (
        *_findings("as drawn", e_in, permuted[:1], optimism[:1]),
        *_findings("mean over permutations", e_in, permuted[1:], optimism[1:]),
    )
    words = [" or ".join(FEATURES[f] for f in PAIRS[pair]) for pair in pairs[:2]]
    notes = (f"Learned from the real labels: {words[0]} is female; from the permuted ones: {words[1]} is female.",)
    title = f"Figures 1 and 2: eighteen faces, and {n} permutations of their labels [paper]"
    return save(StudyResult("figure1", title, findings, notes, _draw(said)), out)


def _findings(case: str, e_in: float, permuted: Floats, optimism: Floats) -> tuple[Finding, ...]:
    error = float(np.std(optimism, ddof=1) / np.sqrt(len(optimism))) if len(optimism) > 1 else float("nan")
    gap = float(optimism.mean())
    values = {"e_in": e_in, "permuted e_in": float(permuted.mean()), "optimism": gap, "e_out": e_in + gap}
    return tuple(
        Finding(quantity, "", case, value, error if quantity in ("optimism", "e_out") else float("nan"), *judged)
        for quantity, value in values.items()
        for judged in [(PRINTED[quantity], 0.0051) if case == "as drawn" else ()]
    )


def _draw(said: Array) -> Draw:
    def draw(figure: Figure) -> None:
        figure.set_size_inches(9.0, 3.0)
        axes = figure.subplots(1, 2)
        for ax, labels, rule, title in zip(
            axes, (FEMALE, SHOWN), said, ("the labels as they are", "permuted labels"), strict=False
        ):
            for side in (0, 1):
                for k, i in enumerate(np.flatnonzero(labels == side)):
                    _face(ax, 4 * side + k % 3, -(k // 3), FACES[i], boxed=rule[i] == 1)
            ax.set(title=f"{title}: left men, right women", xlim=(-0.7, 6.7), ylim=(-2.8, 0.8), aspect="equal")
            ax.axis("off")
        figure.supxlabel("a red box: the rule learned from these labels takes the face for female", fontsize="small")

    return draw


def _face(ax: Any, x: float, y: float, features: Array, *, boxed: bool) -> None:
    """One face; a red box says that the rule takes it for female."""
    from matplotlib.patches import Ellipse, Rectangle

    roundish, long_hair, dark = features
    width = 0.62 if roundish else 0.4
    if long_hair:
        ax.add_patch(Rectangle((x - width / 2 - 0.06, y - 0.4), width + 0.12, 0.6, color="saddlebrown"))
    ax.add_patch(Ellipse((x, y + 0.2), width + 0.1, 0.4, color="saddlebrown"))
    ax.add_patch(Ellipse((x, y), width, 0.62, color="peru" if dark else "bisque"))
    ax.plot([x - 0.1, x + 0.1], [y + 0.06, y + 0.06], "k.", markersize=3)
    ax.plot([x - 0.08, x + 0.08], [y - 0.14, y - 0.14], "k-", linewidth=1)
    if boxed:
        ax.add_patch(Rectangle((x - 0.45, y - 0.46), 0.9, 0.92, fill=False, edgecolor="red", linewidth=1.5))
