"""Federated learning over the air, scheduled by the service round by round.

The modules follow the path of a round::

    channels   devices on a ring, new fading every round
    client     the service's schedule: who transmits, how, and through which receiver
    tasks      local training on the scheduled devices
    air        superposition of what they send, noise, the receiver
    loop       T rounds of it, with a checkpoint after each
    report     the results, as a table and a picture

``python -m airsched_client.federated --help`` runs it from the command line.
"""
