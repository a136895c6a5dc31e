from discreet.sparse.above_threshold import AboveThreshold as AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse as NumericSparse
from discreet.sparse.plan import Form as Form
from discreet.sparse.plan import NoiseKind as NoiseKind
from discreet.sparse.plan import Rule as Rule
from discreet.sparse.sparse import Sparse as Sparse
