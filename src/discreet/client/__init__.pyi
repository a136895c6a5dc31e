from discreet.client.connecting import connect as connect
from discreet.client.remote_analyst import RemoteAnalyst as RemoteAnalyst
from discreet.core.errors import ServerRefused as ServerRefused
from discreet.core.errors import ServerUnreachable as ServerUnreachable
