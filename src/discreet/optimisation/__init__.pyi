from discreet.optimisation.common.best_of_runs import BestOfRuns as BestOfRuns
from discreet.optimisation.common.graphs import Vertices as Vertices
from discreet.optimisation.front_door import cover_edges as cover_edges
from discreet.optimisation.front_door import cover_elements as cover_elements
from discreet.optimisation.k_median.k_median import KMedian as KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive as KMedianExhaustive
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram as KMedianHistogram
from discreet.optimisation.k_median.metric import Metric as Metric
from discreet.optimisation.min_cut.min_cut import MinCut as MinCut
from discreet.optimisation.min_cut.min_cut_exhaustive import MinCutExhaustive as MinCutExhaustive
from discreet.optimisation.min_cut.min_cut_size import MinCutSize as MinCutSize
from discreet.optimisation.public_projects.public_projects import PublicProjects as PublicProjects
from discreet.optimisation.public_projects.public_projects_exhaustive import (
    PublicProjectsExhaustive as PublicProjectsExhaustive,
)
from discreet.optimisation.public_projects.public_projects_sampled import (
    PublicProjectsSampled as PublicProjectsSampled,
)
from discreet.optimisation.set_cover.set_cover import SetCover as SetCover
from discreet.optimisation.set_cover.set_cover_exhaustive import SetCoverExhaustive as SetCoverExhaustive
from discreet.optimisation.set_cover.set_cover_layered import SetCoverLayered as SetCoverLayered
from discreet.optimisation.set_cover.set_cover_sampled import SetCoverSampled as SetCoverSampled
from discreet.optimisation.set_cover.set_cover_split import SetCoverSplit as SetCoverSplit
from discreet.optimisation.set_cover.set_cover_weighted import SetCoverWeighted as SetCoverWeighted
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover as VertexCover
from discreet.optimisation.vertex_cover.vertex_cover_sampled import VertexCoverSampled as VertexCoverSampled
from discreet.optimisation.vertex_cover.vertex_cover_size import VertexCoverSize as VertexCoverSize
from discreet.optimisation.vertex_cover.vertex_cover_weight import VertexCoverWeight as VertexCoverWeight
from discreet.optimisation.vertex_cover.vertex_cover_weighted import (
    VertexCoverWeighted as VertexCoverWeighted,
)
