import asyncio
from contextlib import suppress

import pytest

from discreet.curator.ticks import Ticks
from discreet.server import gate
from discreet.server.fair_queue import Turns


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_names_take_turns_and_no_more_are_in_than_there_is_room_for():
    async def story():
        turns, order, inside, most = Turns(2), [], 0, 0
        doors = asyncio.Event()

        async def come(name):
            nonlocal inside, most
            async with turns.take(name):
                order.append(name)
                inside += 1
                most = max(most, inside)
                await doors.wait()
                await asyncio.sleep(0)
                inside -= 1

        many = [asyncio.create_task(come("greedy")) for _ in range(20)]
        await settle()
        one = asyncio.create_task(come("modest"))
        await settle()
        doors.set()
        await asyncio.gather(one, *many)
        return order, most

    order, most = asyncio.run(story())
    assert most == 2
    assert order[:2] == ["greedy"] * 2 and "modest" in order[2:4]
    assert len(order) == 21


@pytest.mark.parametrize("is_in", [False, True])
def test_whoever_goes_away_leaves_her_room_to_others(is_in):
    async def story():
        turns, doors = Turns(1), asyncio.Event()

        async def come(name):
            async with turns.take(name):
                await doors.wait()

        first, second = (asyncio.create_task(come(name)) for name in ("a", "b"))
        await settle()
        gone, stays = (first, second) if is_in else (second, first)
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        doors.set()
        await asyncio.wait_for(stays, 5)
        await asyncio.wait_for(come("c"), 5)
        assert not turns._lines and turns._free == 1

    asyncio.run(story())


def knock(door, name, send):
    """Send a large body under somebody's name."""
    headers = {
        b"authorization": f"Bearer {name}".encode(),
        b"content-type": b"application/json",
        b"content-length": str(gate.BODY + 1).encode(),
    }
    path = "/v1/datasets/visits/counts"
    scope = {"type": "http", "method": "POST", "path": path, "headers": list(headers.items())}

    async def receive():
        return {"type": "http.request", "body": b" " * (gate.BODY + 1)}

    return door(scope, receive, send)


def test_who_reads_no_reply_and_a_reply_that_waits_for_its_tick_keep_nobody_from_her_turn():
    # One analyst who read nothing stopped the large bodies of all others for ever; and under ticks others
    # left a tick later, which told them of hers.
    async def story():
        async def work(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

        async def never(message):
            await asyncio.Event().wait()

        said = asyncio.Queue()
        door = gate.Gate(work, ticks=Ticks(0), find_name=lambda key: key)
        stuck = [asyncio.create_task(knock(door, "greedy", never)) for _ in range(gate.LARGE_AT_ONCE)]
        await settle()
        await asyncio.wait_for(knock(door, "modest", said.put), 5)
        for one in stuck:
            one.cancel()
        assert said.get_nowait()["status"] == 200

    asyncio.run(story())


def test_few_large_bodies_are_worked_on_at_once_whoever_sends_them():
    async def story():
        inside, most, sent = 0, 0, []

        async def work(scope, receive, send):
            nonlocal inside, most
            await receive()
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

        door = gate.Gate(work, ticks=Ticks(0), find_name=lambda key: key)

        async def note(message):
            sent.append(message.get("status"))

        await asyncio.gather(*(knock(door, f"a{k}", note) for k in range(20) for _ in range(gate.LARGE)))
        assert sent.count(200) == 20 * gate.LARGE
        return most

    assert asyncio.run(story()) == gate.LARGE_AT_ONCE
