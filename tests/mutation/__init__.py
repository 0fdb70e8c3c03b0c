"""Hand-made mutants: small defects, each of which some test must notice. See ``make mutants``."""
