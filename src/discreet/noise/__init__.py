"""Exact integer noise from the operating system's randomness."""

from discreet.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, Noise
from discreet.noise.primitives import AddNoise, NoisyComparison

__all__ = ["AddNoise", "DiscreteGaussian", "DiscreteLaplace", "Geometric", "Noise", "NoisyComparison"]
