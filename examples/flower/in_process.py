"""A grid whose nodes are called in this process: small studies without Ray, and tests."""

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.serverapp import Grid

try:
    from flwr.supercore.task_identity import TaskIdentity
except ImportError:
    # Older versions of Flower number a message when the grid sends it.
    TaskIdentity = SimpleNamespace()


class InProcessGrid(Grid):
    """Nodes that answer one after the other.

    Parameters
    ----------
    app
        The ClientApp of every node.
    nodes
        How many there are.
    run_config
        What every node's context has as the app's configuration.
    first
        The smallest node id. The ids are not in the order of the ``partition-id``, as Flower's.
    """

    def __init__(
        self,
        app: Callable[[Message, Context], Message],
        nodes: int,
        run_config: Mapping[str, Any] | None = None,
        *,
        first: int = 7,
    ) -> None:
        # What Flower's own process sets before it calls a ServerApp.
        TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
        self.app, self.run_config = app, dict(run_config or {})
        # 997 is prime: up to so many nodes have different ids, in no order.
        self.partitions = {first + (37 * number) % 997: number for number in range(nodes)}

    def get_node_ids(self) -> Iterable[int]:
        """Return the ids of all nodes."""
        return list(self.partitions)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Return the answers of all nodes that give one."""
        return [reply for message in messages if (reply := self.answer(message))]

    def answer(self, message: Message) -> Message | None:
        """Return a node's answer; an error if the app raises one."""
        node = message.metadata.dst_node_id
        partition = self.partitions[node]
        about = {"partition-id": partition, "num-partitions": len(self.partitions)}
        try:
            return self.call(message, Context(1, node, about, RecordDict(), self.run_config))
        except Exception as error:
            # Flower's engine answers for a node that died, under a number of its own.
            reply = Message(Error(0, str(error)), reply_to=message)
            reply.metadata.__dict__["_src_node_id"] = 1
            return reply

    def call(self, message: Message, context: Context) -> Message | None:
        """Let the app answer."""
        return self.app(message, context)

    # The rest of a Grid, which neither strategies nor apps call.
    set_run = run = create_message = push_messages = pull_messages = None
