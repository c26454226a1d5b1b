# SPDX-License-Identifier: GPL-2.0
"""Statistics of measurements: medians, spreads, and how sure one can be of a ratio.

Pure functions of their arguments: the bootstrap draws from a generator with a fixed seed, so the same numbers always give
the same interval.
"""

import random
from dataclasses import dataclass
from statistics import median

RESAMPLES = 10000
CONFIDENCE = 0.95
SEED = 612


@dataclass(frozen=True)
class Spread:
    """A median with the smallest and the largest value. capped: some values are lower bounds."""
    median: float
    low: float
    high: float
    capped: bool = False


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios with its confidence interval."""
    median: float
    low: float
    high: float

    @property
    def worse(self):
        """Whether the whole interval says that the second kind of run took longer."""
        return self.high < 1

    @property
    def better(self):
        """Whether the whole interval says that the second kind of run took less."""
        return self.low > 1


def spread(values, capped=False):
    """The Spread of a non-empty list."""
    return Spread(median(values), min(values), max(values), capped)


def bootstrap(values, resamples=RESAMPLES, confidence=CONFIDENCE):
    """The percentile bootstrap interval (low, high) of the median of values."""
    draw = random.Random(SEED)
    medians = sorted(median(draw.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return medians[int(tail * resamples)], medians[min(resamples - 1, int((1 - tail) * resamples))]


def paired_ratio(first, second):
    """The Ratio first / second, of two lists in which the values of one index belong together."""
    if len(first) != len(second) or not first:
        raise ValueError(f"not pairs: {len(first)} and {len(second)} values")
    ratios = [a / b for a, b in zip(first, second)]
    return Ratio(median(ratios), *bootstrap(ratios))
