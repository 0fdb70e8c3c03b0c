"""Programs that use the service and its client together."""
