"""Student's t. SciPy's functions take 27 MiB, so they are imported where one is asked for: an audit asks for none."""

from __future__ import annotations


def quantile(df: float, share: float) -> float:
    """The value below which this share of a t with `df` degrees of freedom lies."""
    from scipy.special import stdtrit

    return float(stdtrit(df, share))


def share_below(df: float, value: float) -> float:
    """The share of a t with `df` degrees of freedom that lies below the value. NaN of NaN."""
    from scipy.special import stdtr

    return float(stdtr(df, value))
