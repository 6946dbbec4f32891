import tempfile
import unittest
from pathlib import Path
from unittest import mock

from courier.dispatch import Dispatcher, DispatchError, main, push_batch, push_job
from courier.job import Job


class DispatcherTest(unittest.TestCase):
    def test_jobs_get_numbers(self) -> None:
        engine = Dispatcher()
        self.assertEqual([engine.push_job(Job("a")), push_job(engine, Job("b"))], [1, 2])

    def test_a_job_needs_a_target(self) -> None:
        with self.assertLogs("courier.dispatch", "WARNING"), self.assertRaises(DispatchError):
            push_job(Dispatcher(), Job(""))

    def test_batches_are_counted(self) -> None:
        engine = Dispatcher()
        self.assertEqual(push_batch(engine, [Job("a"), Job("b")]), 2)
        self.assertEqual(engine.queue.push_job_ids(), [1, 2])

    def test_the_time_is_measured(self) -> None:
        engine = Dispatcher()
        with mock.patch("courier.dispatch.monotonic", side_effect=[10.0, 12.5]):
            engine.run(print)
        self.assertEqual(engine.seconds, 2.5)

    def test_the_id_comes_from_the_environment(self) -> None:
        with mock.patch.dict("os.environ", {"COURIER_DISPATCHER_ID": "d-9"}):
            self.assertEqual(Dispatcher().dispatcher_id, "d-9")

    def test_a_file_is_replayed(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch("builtins.print") as shown:
            path = Path(folder, "day.jsonl")
            path.write_text('{"target": "mail"}\n\n{"target": "print"}\n', encoding="utf-8")
            self.assertEqual(main([str(path)]), 0)
        self.assertEqual(shown.mock_calls, [mock.call(1, "mail"), mock.call(2, "print")])
