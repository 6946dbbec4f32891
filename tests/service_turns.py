"""A service that does what it is asked to, and turns that ask it, each in namespaces of its own."""

import os
from pathlib import Path

from pinchbench.grading.check_sandbox import CheckSandbox
from pinchbench.process.spec import ProcessEnd, ProcessSpec
from pinchbench.process.supervise import supervise
from pinchbench.sandbox.sandbox_spec import WORKSPACE, Forward

# Answers what it is asked to, once `REFUSED` requests have been refused. Everything is deterministic: it does what
# the path of a request says, and prints the path.
SERVER = """
    import http.server, os, socketserver, subprocess, sys, urllib.request

    refused = int(os.environ.get("REFUSED", "0"))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            global refused
            refused -= 1
            path, _, rest = self.path[1:].partition("/")
            said = "ok"
            if path == "quit":
                os._exit(7)
            elif path == "read":
                said = open("/" + rest).read()
            elif path == "there":
                said = str(os.path.exists("/" + rest))
            elif path == "env":
                said = " ".join(sorted(os.environ))
            elif path == "ask":
                said = urllib.request.urlopen("http://" + rest, timeout=200).read().decode()
            elif path == "where":
                said = os.getcwd()
            print("asked for", self.path, flush=True)
            self.send_response(503 if refused >= 0 else 200)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *args):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
GET = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=200).read().decode(), end='')"


async def run_turn(
    *argv: str, workspace: Path, home: Path, output: Path, services: tuple[Forward, ...], marker: str
) -> ProcessEnd:
    """Run a program as a turn of the agent; what it prints goes to `output`."""
    path = {"PATH": os.environ["PATH"]}
    plan = CheckSandbox().plan_program(workspace, owned=(home,), cwd=WORKSPACE, path=path["PATH"], services=services)
    spec = ProcessSpec(argv=argv, cwd=workspace, env=path, stdout=output, stderr=output, marker=marker, sandbox=plan)
    return await supervise(spec, timeout_s=240)
