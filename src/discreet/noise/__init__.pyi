from discreet.noise.laws import DiscreteGaussian as DiscreteGaussian
from discreet.noise.laws import DiscreteLaplace as DiscreteLaplace
from discreet.noise.laws import Noise as Noise
from discreet.noise.laws import OneSidedGeometric as OneSidedGeometric
from discreet.noise.primitives import AddNoise as AddNoise
from discreet.noise.primitives import NoisyComparison as NoisyComparison
