"""``python -m app``: start the service, and say on one line where it is."""

import argparse
import logging
import socket

import uvicorn

from app import __version__
from app.main import create_app
from app.settings import Settings


class _Server(uvicorn.Server):
    """A server that says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # Asked for port 0, the system chose another.
            port = self.servers[0].sockets[0].getsockname()[1]
            address = f"http://{self.config.host}:{port}"
            print(
                f"airsched {__version__} is at {address}, its documentation at {address}/docs",
                flush=True,
            )


def main() -> None:
    """Parse the command line and serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m app", description="Start the service.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", default=8000, type=int, help="port to listen on, 0 for any free one (%(default)s)"
    )
    arguments = parser.parse_args()
    settings = Settings()
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s: %(message)s")
    config = uvicorn.Config(
        create_app(settings),
        host=arguments.host,
        port=arguments.port,
        log_level="warning",
        access_log=False,
    )
    _Server(config).run()


if __name__ == "__main__":
    main()
