from parcelbox.boxes import smallest_fitting


def test_the_smallest_box_that_fits() -> None:
    assert smallest_fitting({"a": 40, "b": 12, "c": 20}, 15) == "c"


def test_no_box_fits() -> None:
    assert smallest_fitting({"a": 4}, 15) is None
