from discreet.server.access import Access as Access
from discreet.server.app import make_app as make_app
from discreet.server.open_datasets import OpenDatasets as OpenDatasets
from discreet.server.registered.registration import Registration as Registration
from discreet.server.registered.registration import read_registration as read_registration
from discreet.server.serving import serve as serve
