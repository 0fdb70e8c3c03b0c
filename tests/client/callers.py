"""One call through either client, so that every test of a client is one of both."""

import asyncio

from airsched_client import AsyncSchedulerClient, SchedulerClient


def through_sync(base_url, settings, method, *arguments, **options):
    with SchedulerClient(base_url, **settings) as client:
        return getattr(client, method)(*arguments, **options)


def through_async(base_url, settings, method, *arguments, **options):
    async def run():
        async with AsyncSchedulerClient(base_url, **settings) as client:
            return await getattr(client, method)(*arguments, **options)

    return asyncio.run(run())


CALLERS = {"sync": through_sync, "async": through_async}
