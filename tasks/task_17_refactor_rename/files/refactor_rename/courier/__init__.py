"""Hands jobs to targets."""

from courier.dispatch import Dispatcher, DispatchError
from courier.job import Job

__all__ = ["DispatchError", "Dispatcher", "Job"]
