import asyncio
import threading
import time

import pytest

from discreet.server.fair_queue import AT_ONCE, WAITING, FairQueue, TooMany


def test_one_analyst_waits_for_one_of_each_other():
    async def story():
        queue, order = FairQueue(1), []
        release = threading.Event()
        first = asyncio.create_task(queue.run("greedy", release.wait))
        await asyncio.sleep(0.05)
        many = [asyncio.create_task(queue.run("greedy", lambda k=k: order.append(k))) for k in range(50)]
        await asyncio.sleep(0)
        one = asyncio.create_task(queue.run("modest", lambda: order.append("modest")))
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(first, one, *many)
        queue.close()
        return order

    order = asyncio.run(story())
    assert order.index("modest") <= 1
    assert [one for one in order if one != "modest"] == list(range(50))


def test_no_analyst_takes_all_threads():
    async def story():
        queue, running, most = FairQueue(2 * AT_ONCE), 0, 0
        lock = threading.Lock()

        def work():
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1

        await asyncio.gather(*(queue.run("greedy", work) for _ in range(30)))
        queue.close()
        return most

    assert asyncio.run(story()) <= AT_ONCE


def test_a_line_has_an_end():
    async def story():
        queue, release = FairQueue(1), threading.Event()
        tasks = [asyncio.create_task(queue.run("greedy", release.wait)) for _ in range(WAITING + 1)]
        await asyncio.sleep(0.05)
        with pytest.raises(TooMany):
            await queue.run("greedy", release.wait)
        other = asyncio.create_task(queue.run("modest", lambda: "served"))
        release.set()
        assert await other == "served"
        await asyncio.gather(*tasks)
        queue.close()

    asyncio.run(story())


def test_what_is_raised_comes_out_and_the_line_goes_on():
    async def story():
        queue = FairQueue(1)
        with pytest.raises(ZeroDivisionError):
            await queue.run("a", lambda: 1 / 0)
        assert await asyncio.wait_for(queue.run("a", lambda: 1), 20) == 1
        assert not queue._running
        queue.close()

    asyncio.run(story())


def test_whoever_goes_away_stops_nothing():
    async def story():
        queue, done = FairQueue(1), threading.Event()
        task = asyncio.create_task(queue.run("a", lambda: time.sleep(0.05) or done.set()))
        await asyncio.sleep(0.01)
        task.cancel()
        assert await queue.run("a", lambda: "next") == "next"
        assert done.is_set()
        queue.close()

    asyncio.run(story())
