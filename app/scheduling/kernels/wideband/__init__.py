"""Search for one set of devices over the subcarriers of a band."""
