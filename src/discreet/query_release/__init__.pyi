from discreet.query_release.asked import marginals as marginals
from discreet.query_release.explicit.mwem import MWEM as MWEM
from discreet.query_release.explicit.projection import Projection as Projection
from discreet.query_release.explicit.small_database import SmallDatabase as SmallDatabase
from discreet.query_release.front_door import plan as plan
from discreet.query_release.front_door import release as release
from discreet.query_release.halfspaces.half_planes import HalfPlanes as HalfPlanes
from discreet.query_release.halfspaces.halfspace_net import HalfspaceNet as HalfspaceNet
from discreet.query_release.halfspaces.points import Ball as Ball
from discreet.query_release.halfspaces.projected_halfspaces import ProjectedHalfspaces as ProjectedHalfspaces
from discreet.query_release.linear.independent import Independent as Independent
from discreet.query_release.linear.interval_search import IntervalSearch as IntervalSearch
from discreet.query_release.linear.range_tree import RangeTree as RangeTree
from discreet.query_release.linear.rectangle_tree import RectangleTree as RectangleTree
from discreet.query_release.linear.residual_marginals import Goal as Goal
from discreet.query_release.linear.residual_marginals import ResidualMarginals as ResidualMarginals
from discreet.query_release.linear.split import Split as Split
from discreet.query_release.median.database_sample import sample_database as sample_database
from discreet.query_release.median.median_mechanism import MedianMechanism as MedianMechanism
from discreet.query_release.median.median_polytope import MedianPolytope as MedianPolytope
from discreet.query_release.median.median_thesis import MedianThesis as MedianThesis
from discreet.query_release.models.adaptive import Adaptive as Adaptive
from discreet.query_release.models.max_entropy import MaxEntropy as MaxEntropy
from discreet.query_release.online.multiplicative_weights import (
    MultiplicativeWeights as MultiplicativeWeights,
)
from discreet.query_release.planning.bootstrap import standard_errors as standard_errors
from discreet.query_release.planning.planner import ReleasePlan as ReleasePlan
from discreet.query_release.population_count import PopulationCount as PopulationCount
from discreet.query_release.synopses.fitted_table import FittedTable as FittedTable
from discreet.query_release.synopses.fitted_table import fit_table as fit_table
from discreet.query_release.synopses.synopsis import Synopsis as Synopsis
