import json
import tempfile
import unittest
from pathlib import Path

from courier import Dispatcher, Job
from courier.state import load, save

ROOT = Path(__file__).resolve().parent.parent


class StateTest(unittest.TestCase):
    def test_what_is_saved_can_be_loaded(self) -> None:
        engine = Dispatcher("d-5")
        engine.push_job(Job("mail", {"n": 1}))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state.json")
            save(engine, path)
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["class"], "courier.dispatch:Dispatcher")
            again = load(path)
        self.assertEqual((again.dispatcher_id, len(again.queue)), ("d-5", 1))

    def test_an_old_file(self) -> None:
        engine = load(ROOT / "fixtures" / "state-2025.json")
        self.assertIsInstance(engine, Dispatcher)
        self.assertEqual(len(engine.queue), 2)
