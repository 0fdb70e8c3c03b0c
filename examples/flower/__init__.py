"""A Flower app that learns digits over the air; :mod:`.compare` runs it beside plain strategies."""
