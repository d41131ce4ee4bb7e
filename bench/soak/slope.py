# SPDX-License-Identifier: Apache-2.0
"""Whether a series grows: Theil-Sen's slope, the median of those between all
pairs of points, with the interval that has the true one in 95 of 100 cases
(Sen 1968). Outliers, as a look in the middle of something, do not move it."""
import math
import statistics

NORMAL_95 = 1.96


def theil_sen(xs, ys):
    """(slope, low, high); NaN where there are fewer than three points."""
    n = len(xs)
    if n < 3:
        return math.nan, math.nan, math.nan
    slopes = sorted((ys[k] - ys[i]) / (xs[k] - xs[i])
                    for i in range(n) for k in range(i + 1, n)
                    if xs[k] != xs[i])
    spread = NORMAL_95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    middle = len(slopes) / 2
    low = max(0, math.floor(middle - spread / 2))
    high = min(len(slopes) - 1, math.ceil(middle + spread / 2))
    return statistics.median(slopes), slopes[low], slopes[high]
