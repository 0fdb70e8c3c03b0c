"""Load tests: latency and throughput of the service as more clients ask at once."""
