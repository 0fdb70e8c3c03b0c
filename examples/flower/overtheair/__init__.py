"""The app: what a node does, what the server does, and the task that both know."""
