from discreet.curator.curator import Curator as Curator
from discreet.curator.doors import Analyst as Analyst
from discreet.curator.history import AskedQuestion as AskedQuestion
from discreet.curator.history import Quote as Quote
from discreet.curator.reply import Reply as Reply
