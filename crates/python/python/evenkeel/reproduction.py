"""`reproduce`: published studies, carried out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from . import _evenkeel
from ._evenkeel import Study
from ._progress import Progress, callback


def reproduce(
    study: str,
    experiments: Optional[Sequence[int]] = None,
    *,
    quick: bool = False,
    seed: int = 1,
    seeds: int = 1,
    jobs: Optional[int] = None,
    progress: Progress = None,
) -> Study:
    """Carries out experiments of a published study: all, or those of some numbers.

    `quick`: about a tenth of the runs. With several `seeds`, from `seed` on, figures are means and
    `ci95` has half the widths of their 95 % intervals. `jobs`: runs at a time, by default one per
    processor. `studies()` lists studies and experiments. Raises `Error` for one that there is not.

    >>> import evenkeel as ek
    >>> ek.reproduce("acfs", [1], quick=True).exhibits[0]["experiment"]
    1
    """
    return _evenkeel.reproduce(
        study,
        None if experiments is None else list(experiments),
        quick=quick,
        seed=seed,
        seeds=seeds,
        jobs=jobs,
        progress=callback(progress, "experiments"),
    )
