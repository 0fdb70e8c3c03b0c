"""The client of airsched."""
