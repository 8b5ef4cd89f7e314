"""Wilson's interval of a share (Wilson 1927, JASA 22).

Written out: the libraries that have it take seconds to import, and more memory than a hundred thousand dialogues.
"""

from __future__ import annotations

from math import nan, sqrt
from statistics import NormalDist

Z = NormalDist().inv_cdf(0.975)


def wilson_interval(hits: float, n: int) -> tuple[float, float]:
    """The 95% interval of `hits` of `n` independent cases; NaN where n is 0."""
    if n == 0:
        return nan, nan
    p, each = hits / n, Z * Z / n
    middle, half = p + each / 2, sqrt(each * p * (1 - p) + each * each / 4)
    low, high = (middle - half) / (1 + each), (middle + half) / (1 + each)
    return (low if hits else 0.0), (1.0 if hits == n else high)
