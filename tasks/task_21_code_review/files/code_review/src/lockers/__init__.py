"""Parcel lockers: the part that the desk, the couriers' handhelds and the scheduler share."""
