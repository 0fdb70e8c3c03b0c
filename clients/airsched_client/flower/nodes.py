"""The connected nodes, as they describe themselves."""

import logging
import time

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from airsched_client.flower.device import QUERY, device_from
from airsched_client.flower.sources import Device

_log = logging.getLogger("flwr")


class Nodes:
    """Asks every node once who it is, and remembers.

    Parameters
    ----------
    timeout
        Seconds to wait for the answers.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._known: dict[int, Device] = {}

    def devices(self, grid: Grid, least: int, *, anew: bool) -> list[Device]:
        """Return the nodes that describe themselves, in the same order in every run.

        Parameters
        ----------
        least
            Waits until so many nodes are connected.
        anew
            Asks all of them again.
        """
        while len(nodes := set(grid.get_node_ids())) < least:
            _log.info("Waiting for nodes: %s connected, %s needed", len(nodes), least)
            time.sleep(1)
        if anew:
            self._known.clear()
        if asked := sorted(nodes - self._known.keys()):
            self._ask(grid, asked)
        # Node ids are drawn anew in every run; in their order, no run could be repeated.
        return sorted(
            (self._known[node] for node in nodes & self._known.keys()),
            key=lambda device: (device.index is None, device.index or 0, device.node_id),
        )

    def _ask(self, grid: Grid, nodes: list[int]) -> None:
        queries = [Message(RecordDict(), node, QUERY, ttl=self._timeout) for node in nodes]
        for reply in grid.send_and_receive(queries, timeout=self._timeout):
            self._note(reply)
        if silent := [node for node in nodes if node not in self._known]:
            _log.warning("nodes %s did not describe themselves: they are left out", silent)

    def _note(self, reply: Message) -> None:
        if reply.has_error():
            _log.warning("a node failed to describe itself: %s", reply.error.reason)
            return
        try:
            device = device_from(reply)
        except ValueError as error:
            _log.warning("node %s: %s", reply.metadata.src_node_id, error)
        else:
            self._known[device.node_id] = device
