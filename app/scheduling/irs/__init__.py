"""Scheduling with an intelligent reflecting surface, which shapes the channels."""
