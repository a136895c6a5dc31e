from discreet.equilibrium.arrays import on_torch as on_torch
from discreet.equilibrium.bregman import cap_project as cap_project
from discreet.equilibrium.players import DenseWeights as DenseWeights
from discreet.equilibrium.players import WeightsPlayer as WeightsPlayer
from discreet.equilibrium.zero_sum import Equilibrium as Equilibrium
from discreet.equilibrium.zero_sum import solve as solve
