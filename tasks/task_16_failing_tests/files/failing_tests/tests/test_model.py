import unittest

from stockroom.model import Shelf


class ShelfTest(unittest.TestCase):
    def test_slots_of_a_part(self) -> None:
        shelf = Shelf("north", 60)
        shelf.put("c2", "HC-20")
        shelf.put("a1", "HC-20")
        shelf.put("b1", "FN-8")
        self.assertEqual(shelf.find("HC-20"), ["a1", "c2"])

    def test_a_label_can_be_replaced(self) -> None:
        shelf = Shelf("south", 60)
        shelf.put("z9", "OR-3")
        shelf.put("z9", "OR-4")
        self.assertEqual(shelf.find("OR-4"), ["z9"])
        self.assertEqual(shelf.find("OR-3"), [])
