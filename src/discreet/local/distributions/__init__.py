"""Distributions of numbers: whole histograms and quantiles from one report a person."""
