"""Other people's methods, written from their papers, to be compared with on their own ground.

Each module names its paper, and says what the paper leaves open and what is assumed here.
"""
