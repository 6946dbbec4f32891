"""E-mail messages as files, the same each time."""

from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from hashlib import sha256


def eml(
    *,
    sender: str,
    to: str,
    subject: str,
    sent: datetime,
    text: str,
    cc: str = "",
    html: str = "",
    attachments: Mapping[str, tuple[str, bytes]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of a message. `sent` is aware; `attachments` maps names to (MIME type, bytes)."""
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = to
    if cc:
        message["Cc"] = cc
    message["Subject"] = subject
    message["Date"] = format_datetime(sent)
    key = sha256(f"{sender}|{to}|{subject}|{sent.isoformat()}".encode()).hexdigest()
    domain = sender.rsplit("@", 1)[-1].strip("> ")
    message["Message-ID"] = f"<{key[:20]}@{domain}>"
    for name, value in (headers or {}).items():
        message[name] = value
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    for name, (kind, data) in (attachments or {}).items():
        main, _, sub = kind.partition("/")
        message.add_attachment(data, maintype=main, subtype=sub, filename=name)
    for number, part in enumerate(part for part in message.walk() if part.is_multipart()):
        part.set_boundary(f"=_{key[:24]}_{number}")
    return message.as_bytes()
