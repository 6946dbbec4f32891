import unittest
from pathlib import Path

from courier.cli import make
from courier.dispatch import Dispatcher, push_job
from courier.plugins import DEFAULT, read_plugins, resolve

PLUGINS = Path(__file__).resolve().parent.parent / "config" / "plugins.yaml"


class PluginsTest(unittest.TestCase):
    def test_the_file_names_our_own(self) -> None:
        plugins = read_plugins(PLUGINS)
        self.assertIs(resolve(plugins["dispatcher"]), Dispatcher)
        self.assertIs(resolve(plugins["submit"]), push_job)

    def test_the_default(self) -> None:
        self.assertEqual(DEFAULT["dispatcher"], "courier.dispatch:Dispatcher")
        self.assertIsInstance(make(None), Dispatcher)
