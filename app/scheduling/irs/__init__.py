"""Scheduling with an intelligent reflecting surface: the same core for channels that it shapes."""
