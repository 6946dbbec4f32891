import unittest
from decimal import Decimal

from stockroom.catalogue import Catalogue
from stockroom.model import Part


def depot() -> Catalogue:
    return Catalogue(
        [
            Part("HC-20", "Hose clamp", Decimal("0.85"), tags=("steel",)),
            Part("FN-8", "Flange nut", Decimal("0.12"), tags=("steel", "M8")),
            Part("OR-3", "O-ring small", Decimal("0.30")),
        ]
    )


class CatalogueTest(unittest.TestCase):
    def test_every_word_must_be_there(self) -> None:
        self.assertEqual([part.sku for part in depot().search("STEEL nut")], ["FN-8"])
        self.assertEqual(depot().search("steel ring"), [])
        self.assertEqual(depot().search("  "), [])

    def test_results_are_in_the_order_of_the_sku(self) -> None:
        self.assertEqual([part.sku for part in depot().search("steel")], ["FN-8", "HC-20"])

    def test_a_new_part_is_found(self) -> None:
        catalogue = depot()
        catalogue.search("steel")
        catalogue.add(Part("AB-1", "Angle bracket", Decimal("2.10"), tags=("steel",)))
        self.assertEqual([part.sku for part in catalogue.search("steel")], ["AB-1", "FN-8", "HC-20"])

    def test_a_new_name_is_found(self) -> None:
        catalogue = depot()
        self.assertEqual(catalogue.search("band"), [])
        catalogue.rename("HC-20", "Band clamp")
        self.assertEqual([part.name for part in catalogue.search("band")], ["Band clamp"])

    def test_the_index_is_not_built_twice(self) -> None:
        catalogue = depot()
        catalogue.search("steel")
        catalogue.search("nut")
        self.assertEqual(catalogue.builds, 1)

    def test_removing_an_unknown_part(self) -> None:
        with self.assertRaises(KeyError):
            depot().remove("XX-1")
