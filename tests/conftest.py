import os
import random  # noqa: TID251 - the luck of tests, no noise of a release
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Compiled once for all workers and for the hundred processes that tests start, whatever the environment says:
# most of the start of a process would be compiling what the one before it compiled.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Machines under load are slow now and then; a slow example is not a wrong one.
# The same examples every time, so that no change is judged by luck; `make soak` explores with others.
_SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("discreet", **_SLOW, print_blob=True, derandomize=True)
settings.register_profile("explore", **_SLOW, print_blob=True)
settings.load_profile("discreet")

# For the same reason what a test draws from the operating system follows from its name, in this process: were
# each of twenty thousand tests to fail once in a hundred thousand runs, one run in six would fail.
# DISCREET_CHANCE=system, as in `make soak`, leaves chance alone; any other text is another luck.
_LUCK = os.environ.get("DISCREET_CHANCE", "0")


class _NamedChance:
    """Bytes that follow from a name, for this process alone: the processes it starts draw from the system."""

    def __init__(self) -> None:
        self.source = random.Random(_LUCK)
        self._process = os.getpid()
        self._system = os.urandom

    def __call__(self, count: int) -> bytes:
        return self.source.randbytes(count) if os.getpid() == self._process else self._system(count)

    def follow(self, name: str) -> Generator[None, Any, Any]:
        """Draw what follows from a name until the wrapped hook is over."""
        before, self.source = self.source, random.Random(f"{_LUCK} {name}")
        try:
            return (yield)
        finally:
            self.source = before


if _LUCK != "system":
    _CHANCE = _NamedChance()
    os.urandom = _CHANCE
    random._urandom = _CHANCE  # type: ignore[attr-defined]  # what `secrets` draws from

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
        """Name chance after the test."""
        return (yield from _CHANCE.follow(item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Name chance after the fixture where several tests share it, whichever of them comes first."""
        if fixturedef.scope == "function":
            return (yield)
        return (yield from _CHANCE.follow(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"))
