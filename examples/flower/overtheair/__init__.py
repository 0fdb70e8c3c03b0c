"""The app: model, data and training in ``task``, the nodes, and the server."""
