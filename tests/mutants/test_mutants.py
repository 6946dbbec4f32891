"""The mutants of `tests/mutants` fit the package as it is."""

import pytest

from mutants.run import files_with_tests, module_of
from mutants.table import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=[one.story for one in MUTANTS])
def test_a_mutants_text_occurs_once_and_its_tests_exist(mutant: Mutant) -> None:
    module_of(mutant)  # raises ValueError otherwise

    assert files_with_tests(mutant)  # raises ValueError if one of them is missing
