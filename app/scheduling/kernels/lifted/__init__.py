"""Interior-point method for the lifted problem."""
