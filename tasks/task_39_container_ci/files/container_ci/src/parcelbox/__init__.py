"""Parcel lockers: which box is free, and who may open it."""
