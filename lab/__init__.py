"""What experiments, benchmarks and tests share: channels, oracles, the paper, a service."""
