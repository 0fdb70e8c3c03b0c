"""Federated learning over the air, scheduled by the service round by round.

The way of a round can be read off the modules::

    channels   devices on a ring, new fading every round
    client     the service's schedule: who transmits, how, and through which receiver
    tasks      local training on the scheduled devices
    air        superposition of what they send, noise, the receiver
    loop       T rounds of it, with a checkpoint after each
    report     what came out, as a table and a picture

``python -m airsched_client.federated --help`` runs it from the command line.
"""
