"""The web service: `python -m parcelbox.server`."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from parcelbox import settings


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/healthz":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"ok\n")
        else:
            super().do_GET()


def main() -> None:
    handler = partial(Handler, directory=str(settings.WEB_ROOT))
    ThreadingHTTPServer(("0.0.0.0", settings.PORT), handler).serve_forever()


if __name__ == "__main__":
    main()
