"""The HTTP edge: the only place that knows fastapi and pydantic."""
