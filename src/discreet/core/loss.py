"""Losses: what a mechanism costs.

A Loss in a stored ledger must mean the same for ever. So: no Loss class is removed; a changed analysis
gets a new class; a view that cannot be derived is infinity or None, never a guess.

Accountants read views, never class names:

``epsilon(delta)``  the smallest epsilon at a delta;  ``delta(epsilon)``  the reverse
``renyi(order)``    a bound on the Rényi divergence, failure mass apart
``zcdp()``          rho with renyi(order) <= rho * order for every order, failure mass apart
``gaussian()``      mu^2 and its widened form, where Gaussian noise covers the loss
``pld(step)``       upper bounds on the loss distributions, one for each order of the neighbours
``failure``         probability that nothing is promised, on top of the Rényi views

Every view is rounded towards more loss.
"""

from __future__ import annotations

from discreet.core.losses.base import ORDERS, Loss, Pair, renyi_delta, zcdp_delta
from discreet.core.losses.concentrated import RenyiLoss, ZCDPLoss
from discreet.core.losses.noise import (
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    gaussian_delta,
    gaussian_pld,
)
from discreet.core.losses.pure import ApproxLoss, BoundedRangeLoss, PureLoss

__all__ = [
    "ORDERS",
    "ApproxLoss",
    "BoundedRangeLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "LaplaceLoss",
    "Loss",
    "Pair",
    "PureLoss",
    "RenyiLoss",
    "ZCDPLoss",
    "gaussian_delta",
    "gaussian_pld",
    "renyi_delta",
    "zcdp_delta",
]
