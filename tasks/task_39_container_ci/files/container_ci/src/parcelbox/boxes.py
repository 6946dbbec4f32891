"""The choice of a box."""


def smallest_fitting(boxes: dict[str, int], litres: int) -> str | None:
    """Return the name of the smallest box that holds so many litres."""
    fitting = [(size, name) for name, size in boxes.items() if size >= litres]
    return min(fitting)[1] if fitting else None
