"""The demo's parts: a server and three analysts, each in a process of its own, and the owner who watches."""
