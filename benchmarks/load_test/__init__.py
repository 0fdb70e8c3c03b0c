"""Load test: latency of the service under open load, at shares of what one core can serve."""
