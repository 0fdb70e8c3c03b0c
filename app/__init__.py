"""airsched: device scheduling for over-the-air federated learning, as a service."""

__version__ = "0.1.0"
