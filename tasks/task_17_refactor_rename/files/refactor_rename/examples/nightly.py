"""Example: what a nightly run looks like."""

import courier
from courier.dispatch import push_batch

engine = courier.Dispatcher("d-night")
engine.push_job(courier.Job("backup"))
push_batch(engine, [courier.Job("mail", {"n": number}) for number in range(3)])
engine.run(lambda job: print(job.number, job.target))
