import unittest
from unittest import mock

from courier import Dispatcher, Job
from courier.bridge import forward
from courier.handlers import handler
from courier.metrics import jobs_waiting
from courier.pool import DispatcherGroup
from courier.retry import with_retries
from courier.schedule import due, engine


class PartsTest(unittest.TestCase):
    def test_the_group_takes_turns(self) -> None:
        group = DispatcherGroup(2)
        self.assertEqual([group.submit(Job("a")) for _ in range(3)], ["d-0", "d-1", "d-0"])

    def test_handlers(self) -> None:
        worker = Dispatcher()
        self.assertEqual(handler("job")(worker, Job("a")), 1)
        self.assertEqual(handler("batch")(worker, [Job("a")]), 1)
        with self.assertRaises(ValueError):
            handler("jobs")

    def test_retries(self) -> None:
        with mock.patch.object(Dispatcher, "push_job", side_effect=[7]) as taken:
            self.assertEqual(with_retries(Dispatcher(), Job("a")), 7)
        self.assertEqual(taken.call_count, 1)

    def test_metrics(self) -> None:
        self.assertEqual(jobs_waiting(Dispatcher("d-1")), 'courier_jobs_waiting{worker="dispatcher",id="d-1"} 0')

    def test_the_partner_is_called(self) -> None:
        client = mock.Mock(spec=["push_job"])
        client.push_job.return_value = "r-1"
        self.assertEqual(forward(client, Job("a", {"n": 1})), "r-1")

    def test_the_schedule(self) -> None:
        self.assertIsInstance(engine("d-3"), Dispatcher)
        self.assertTrue(due((2, 14), 14))
