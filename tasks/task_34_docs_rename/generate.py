"""The documentation of a product that gets a new name: each page is written once and rendered for both names."""

import posixpath
import re
from hashlib import sha256

from craft.dice import Dice

NAMES = {
    "old": {"P": "Quillcast", "p": "quillcast", "U": "QUILLCAST", "c": "quill", "C": "QUILL"},
    "new": {"P": "Harborline", "p": "harborline", "U": "HARBORLINE", "c": "harbor", "C": "HARBOR"},
}
RULES = """\
# Quillcast becomes Harborline

The documentation is in `site/`. Only its `.md` files are changed, and nothing in them that the rules don't name. Rule 5
goes before all others.

1. **Product.** `Quillcast` becomes `Harborline`, in prose, headings, link texts, tables, front matter and code alike.
   It has three spellings, `Quillcast`, `quillcast` and `QUILLCAST`; the new name takes the same one. Only whole
   words: with a letter or a digit directly before or after it, it is another word (`Quillcastle` is a town). Hyphens,
   underscores, dots and slashes end a word.
2. **Command.** `quill` becomes `harbor` (and `QUILL` becomes `HARBOR`), but only in code: in code spans, in fenced
   blocks and in the front matter key `command`. Whole words as above, so `quill.toml` and `QUILL_HOME` change and
   `quillpen` does not. In prose, a quill is a feather or a surname and stays.
3. **Files.** The files in `moves.csv` are moved. No other file gets a new name, whatever its name is.
4. **Links.** Relative links, images and reference definitions must lead to the same file and the same heading as
   before. Put their path and anchor right where a file has moved or a heading has changed; their targets are changed
   for no other reason. The anchor of a heading is its text in lower case; everything but letters, digits, blanks,
   hyphens and underscores is dropped, and each blank becomes a hyphen.
5. **What stays.** The following remains byte for byte, with the links in it:
   - block quotes (lines that begin with `>`): people said it that way
   - fenced blocks with the word `v1` in their opening line: they show the old version
   - in `CHANGELOG.md` everything from the heading `## 2.9.0` on
   - everything from a line `<!-- rename:off -->` to the line `<!-- rename:on -->`
   - the front matter keys `slug` and `aliases`
   - tags such as `<a id="...">`, and e-mail addresses
   - URLs with `http://` or `https://`; only `https://docs.quillcast.example` becomes
     `https://docs.harborline.example`, with the rest of the URL as it was
6. **Bytes.** Line ends, blanks at the end of a line and all the rest stay as they are.
"""
COMMANDS = [
    "sync",
    "export",
    "import",
    "status",
    "login",
    "prune",
    "verify",
    "watch",
    "rollback",
    "inspect",
    "queue",
    "backup",
]
SETUP = ["linux", "macos", "windows", "containers", "offline", "proxy", "upgrade", "uninstall", "licences", "first-run"]
GUIDES = [
    "templates",
    "schedules",
    "webhooks",
    "roles",
    "audit-trail",
    "retention",
    "mail-gateway",
    "partners",
    "translations",
    "previews",
    "bulk-edits",
    "feeds",
    "channels",
    "drafts",
    "approvals",
    "archives",
    "tagging",
    "search",
    "imports",
    "media",
    "metrics",
    "alerts",
    "themes",
    "sandboxes",
]
OPERATIONS = [
    "backups",
    "monitoring",
    "capacity",
    "certificates",
    "database",
    "failover",
    "incidents",
    "logging",
    "maintenance",
    "network",
    "patching",
    "queues",
    "restore",
    "scaling",
    "secrets",
    "storage",
    "tracing",
    "access",
    "on-call",
    "disaster-drill",
]
REFERENCE = [
    "configuration",
    "environment",
    "errors",
    "events",
    "fields",
    "filters",
    "formats",
    "glossary",
    "http-api",
    "limits",
    "locales",
    "permissions",
    "placeholders",
    "ports",
    "quotas",
    "rate-limits",
    "schemas",
    "selectors",
    "signals",
    "statuses",
    "time-zones",
    "tokens",
    "units",
    "variables",
]
TEAM = ["contributing", "style", "releases", "support", "meetings", "history", "people", "triage", "reviews", "roadmap"]
WITH_NAME = [
    "⟦P⟧ keeps a copy of every message until the retention period is over.",
    "When ⟦P⟧ starts, it reads its settings once and then watches them for changes.",
    "Most teams run ⟦P⟧ on two hosts, so that one can be patched while the other works.",
    "⟦P⟧'s scheduler looks at the queue every five seconds.",
    "You need the role *editor* in ⟦P⟧ to change this.",
    "A ⟦P⟧-only account cannot sign in anywhere else.",
    "The ⟦P⟧ agent needs about 200 MB of memory; the server needs more.",
    "If two ⟦P⟧ servers share a database, only one of them sends.",
    "**⟦P⟧** and the mail gateway agree on the time within two seconds.",
    "In the logs, look for the word ⟦U⟧ in capitals: it marks the lines of the core.",
    "The package is called ⟦p⟧-server; the older package ⟦p⟧_tools is not needed.",
    "Ask your administrator which edition of ⟦P⟧ you have.",
]
WITHOUT_NAME = [
    "Changes take effect at once, and there is nothing to restart.",
    "The default suits most sites; change it only if you have measured that it helps.",
    "Times are shown in the time zone of the reader.",
    "Nothing is sent while a preview is open.",
    "A quill on the login page is the mark of the old design and has no meaning.",
    "Quillcastle Council, our first customer, uses three of these at the same time.",
    "The drawings of quills on the printed cards are by Maren Quill.",
    "Names may have up to sixty characters.",
    "This page was checked with the current release.",
    "The old editor quillpen is a different program and is not described here.",
    "Deleted entries can be brought back for thirty days.",
    "Write to help@quillcast.example if a step does not work for you.",
]
WITH_COMMAND = [
    "Run `⟦c⟧ {verb}` to see the present state.",
    "The setting `{word}.limit` in `⟦c⟧.toml` holds the upper limit.",
    "Set `⟦C⟧_HOME` if the files are not in your home folder; `⟦C⟧_{upper}` is read as well.",
    "With `⟦c⟧ {verb} --dry-run`, ⟦P⟧ only says what it would do.",
    "`⟦c⟧ {verb}` and `quillpen {verb}` look alike but are different programs.",
    "Logs are in `/var/log/⟦p⟧/{word}.log`, unless `⟦c⟧ {verb} --log` says otherwise.",
]
BLOCKS = [
    ["```sh", "⟦c⟧ {verb} --all", "⟦c⟧ status | grep {word}", "```"],
    ["```toml", "# ⟦c⟧.toml, read by ⟦P⟧", "[{word}]", "limit = 20", 'socket = "/run/⟦p⟧/⟦c⟧.sock"', "```"],
    [
        "~~~sh",
        "export ⟦C⟧_HOME=/srv/⟦p⟧",
        "curl -sO https://download.quillcast.example/v3/quill-{word}.tar.gz",
        "⟦c⟧ {verb}",
        "~~~",
    ],
    ["```json", '{{"name": "{word}", "product": "⟦p⟧", "help": "https://docs.⟦p⟧.example/quill/{word}"}}', "```"],
    ["```sh v1", "quill {verb} --legacy", "cat /etc/quillcast/quill.toml", "```"],
    ["```text v1", "QUILLCAST core 1.4: quill {verb} finished", "```"],
    ["```text", "⟦U⟧ core: ⟦c⟧ {verb} finished, libquill 4 loaded", "see docs/setup/linux.md", "```"],
]
QUOTES = [
    [
        "> We moved to Quillcast in a weekend and never looked back. `quill sync` did the rest.",
        "> Ada Thorne, Quillcastle Council",
    ],
    ["> The name Quillcast comes from a quill and a broadcast."],
    ["> Type `quill status` and read what Quillcast tells you.", ">", "> Lecture notes, 2023"],
]
URLS = [
    "The sources are at https://code.example.org/quillcast/quill and can be built with any recent compiler.",
    "See the [⟦P⟧ manual](https://docs.⟦p⟧.example/manual/quillcast/{word}) for more.",
    "A [talk about ⟦P⟧](https://video.example.org/quillcast-{word}) explains the reasons.",
    "Old pages remain at <https://www.quillcast.example/{word}>.",
]
HEADINGS = [
    "How ⟦P⟧ handles {word}",
    "Before you begin",
    "{Word} with `⟦c⟧ {verb}`",
    "Limits",
    "⟦P⟧ and {word}: common mistakes",
    "The name of the quill",
    "What ⟦p⟧-server does",
    "Settings in `⟦c⟧.toml`",
    "Why a Quillcastle rule exists",
    "Questions",
]


def places() -> dict[str, tuple[str, str]]:
    """Old and new place of each page, below site/."""
    pages = {
        "README.md": "README.md",
        "CHANGELOG.md": "CHANGELOG.md",
        "docs/index.md": "docs/index.md",
        "docs/faq.md": "docs/faq.md",
    }
    pages["docs/about-quillcast.md"] = "docs/about-harborline.md"
    pages["docs/quillcast-editions.md"] = "docs/quillcast-editions.md"
    for name in SETUP:
        pages[f"docs/setup/{name}.md"] = f"docs/install/{name}.md"
    for name in GUIDES:
        pages[f"docs/guides/{name}.md"] = f"docs/guides/{name}.md"
    for name in OPERATIONS:
        target = (
            f"docs/guides/running/{name}.md"
            if name in ("backups", "restore", "monitoring", "patching")
            else f"docs/operations/{name}.md"
        )
        pages[f"docs/operations/{name}.md"] = target
    for name in REFERENCE:
        pages[f"docs/reference/{name}.md"] = f"docs/reference/{name}.md"
    for name in COMMANDS:
        pages[f"docs/reference/cli/quill-{name}.md"] = f"docs/reference/commands/harbor-{name}.md"
    for name in TEAM:
        pages[f"docs/team/{name}.md"] = f"docs/team/{name}.md"
    for number in range(1, 17):
        pages[f"docs/notes/note-{number:02}.md"] = f"docs/notes/note-{number:02}.md"
    return {old: (old, new) for old, new in pages.items()}


def show(template: str, side: str) -> str:
    return re.sub(r"⟦(\w)⟧", lambda found: NAMES[side][found[1]], template)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-")


def templates() -> dict[str, dict]:
    """Each page: its lines as templates, and its headings."""
    dice = Dice(48151)
    pages = {}
    for place in places():
        word = posixpath.basename(place).removesuffix(".md").replace("quill-", "").replace("quillcast", "overview")
        word = word.replace("note-", "note").lower()
        words = {
            "word": word,
            "Word": word.capitalize(),
            "upper": word.upper().replace("-", "_"),
            "verb": dice.pick(COMMANDS),
        }
        plain = place.startswith("docs/notes/") and dice.chance(0.7)  # a page that need not change
        title = (
            f"{words['Word']} notes" if plain else dice.pick(["{Word} in ⟦P⟧", "⟦P⟧ {word}", "{Word}"]).format(**words)
        )
        if place.startswith("docs/reference/cli/"):
            title = f"`⟦c⟧ {word}`"
            words["verb"] = word
        lines, headings = [], [title]
        if dice.chance(0.6) and place not in ("README.md", "CHANGELOG.md"):
            lines += ["---", f"title: {title.replace('`', '')}" if "⟦c⟧" not in title else f"title: Command {word}"]
            if not plain:
                lines += [f"description: What ⟦P⟧ does about {word}", f"tags: [⟦p⟧, {word}]"]
            if place.startswith("docs/reference/cli/"):
                lines.append(f"command: ⟦c⟧ {word}")
            lines.append(f"slug: quillcast-{word}")
            if dice.chance(0.4):
                lines.append(f"aliases: [quill-{word}, quillcast/{word}]")
            lines += ["---", ""]
        lines += [f"# {title}", ""]
        for heading in ["", *dice.sample(HEADINGS, dice.between(2, 4))]:
            if heading and plain and "⟦" in heading:
                heading = "More on {word}"
            if heading:
                heading = heading.format(**words)
                if heading in headings:
                    continue
                headings.append(heading)
                lines += [f"## {heading}", ""]
            for _ in range(dice.between(1, 3)):
                pool = WITHOUT_NAME if plain or dice.chance(0.4) else WITH_NAME
                lines.append(" ".join(dice.sample(pool, dice.between(1, 3))))
                if dice.chance(0.12):
                    lines[-1] += "  "
                lines.append("")
            if plain:
                if dice.chance(0.5):
                    lines += [*dice.pick(QUOTES), ""]
                continue
            lines += [dice.pick(WITH_COMMAND).format(**words), ""]
            if dice.chance(0.55):
                lines += [part.format(**words) for part in dice.pick(BLOCKS)] + [""]
            if dice.chance(0.3):
                lines += [*dice.pick(QUOTES), ""]
            if dice.chance(0.35):
                lines += [dice.pick(URLS).format(**words), ""]
            if dice.chance(0.2):
                lines += [
                    "| Term | Meaning |",
                    "|---|---|",
                    f"| ⟦P⟧ {word} | What `⟦c⟧ {words['verb']}` shows |",
                    "| quill | a feather |",
                    "",
                ]
            if dice.chance(0.12):
                lines += [
                    "<!-- rename:off -->",
                    f"The trade mark Quillcast is registered; `quill {word}` was its first command.",
                    "<!-- rename:on -->",
                    "",
                ]
        pages[place] = {"lines": lines, "headings": headings, "word": word}
    log = ["# Changelog", "", "All changes of ⟦P⟧ that users can see.", ""]
    for version, name in (
        ("Unreleased", "⟦P⟧"),
        ("3.0.0", "⟦P⟧"),
        ("2.9.0", "Quillcast"),
        ("2.8.2", "Quillcast"),
        ("2.8.0", "Quillcast"),
    ):
        command = "⟦c⟧" if name == "⟦P⟧" else "quill"
        log += [f"## {version}", ""]
        for verb in dice.sample(COMMANDS, 5):
            log.append(f"- `{command} {verb}` no longer waits when {name} is busy.")
        log += ["", f"### {name} core in {version}", "", f"- The {name} core uses less memory.", ""]
    log += ["[setup]: docs/setup/linux.md", ""]
    pages["CHANGELOG.md"] = {
        "lines": log,
        "headings": ["Changelog", "⟦P⟧ core in 3.0.0", "Quillcast core in 2.8.0"],
        "word": "changelog",
    }
    pages["docs/about-quillcast.md"]["lines"] += [
        '<a id="quillcast-legacy"></a>',
        "",
        "This part is about the time before the name ⟦P⟧.",
        "",
    ]
    # Links come last, when every page has its headings: ⟦L|page|heading⟧.
    names = list(pages)
    for place, page in pages.items():
        if place == "CHANGELOG.md" or (
            place.startswith("docs/notes/") and not any("⟦" in line for line in page["lines"])
        ):
            continue
        links = []
        for target in dice.sample(names, dice.between(2, 5)):
            heading = dice.pick(pages[target]["headings"]) if dice.chance(0.55) else ""
            text = dice.pick(["⟦P⟧: {word}", "{word}", "more about {word}"]).format(word=pages[target]["word"])
            if target == place:
                links.append(f"- [further down](⟦L||{page['headings'][-1]}⟧)")
            else:
                links.append(f"- [{text}](⟦L|{target}|{heading}⟧)")
        if dice.chance(0.2):
            links.append("- [how it began](⟦L|docs/about-quillcast.md|=quillcast-legacy⟧)")
        if dice.chance(0.15):
            links.append("- [the core of old](⟦L|CHANGELOG.md|Quillcast core in 2.8.0⟧)")
        if dice.chance(0.15):
            links.append("- [the new core](⟦L|CHANGELOG.md|⟦P⟧ core in 3.0.0⟧)")
        if dice.chance(0.25):
            links.append("![⟦P⟧ at a glance](⟦L|img/quillcast-architecture.svg|⟧)")
        page["lines"] += ["## See also", "", *links, ""]
        if dice.chance(0.25):
            target = dice.pick(names)
            page["lines"] += [
                "How to start is told in [the setup of ⟦P⟧][start].",
                "",
                "[start]: ⟦L|docs/setup/first-run.md|⟧",
                "",
            ]
            page["lines"] += [f"> Compare [Quillcast](⟦K|{target}⟧).", ""]
    return pages


def render(side: str) -> dict[str, bytes]:
    """The pages under the old or the new name, by their place below site/."""
    pages, where = templates(), places()
    index = 0 if side == "old" else 1
    made = {}
    for place, page in pages.items():
        here = posixpath.dirname(where[place][index])

        def path(target: str, side_index: int = index, folder: str = here) -> str:
            there = where[target][side_index] if target in where else target
            return posixpath.relpath(there, folder or ".")

        def link(found) -> str:
            target, heading = found[1], found[2]
            mark = ""
            if heading:
                mark = "#" + (heading[1:] if heading.startswith("=") else anchor(show(heading, side)))
            return (path(target) if target else "") + mark

        lines = []
        for line in page["lines"]:
            # A quoted link stays as it was, even if it leads nowhere now.
            line = re.sub(
                r"⟦K\|(.*?)⟧", lambda found: posixpath.relpath(found[1], posixpath.dirname(place) or "."), line
            )
            line = re.sub(r"⟦L\|([^|]*)\|((?:⟦\w⟧|[^⟧])*)⟧", link, line)
            lines.append(show(line, side))
        text = "\n".join(lines)
        if page["word"] in ("webhooks", "network", "first-run", "queue"):
            text = text.replace("\n", "\r\n")
        if page["word"] in ("tokens", "people"):
            text = text.rstrip("\n")
        made[where[place][index]] = text.encode()
    return made


def picture(word: str) -> bytes:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80"><title>Quillcast {word}</title>'
        '<rect x="10" y="10" width="80" height="60" fill="none" stroke="black"/></svg>\n'
    ).encode()


def files() -> dict[str, bytes]:
    made = {f"docs_rename/site/{place}": data for place, data in render("old").items()}
    made["docs_rename/site/img/quillcast-architecture.svg"] = picture("architecture")
    made["docs_rename/site/img/quill.svg"] = picture("mark")
    made["docs_rename/RENAME.md"] = RULES.encode()
    moves = "".join(f"{old},{new}\n" for old, new in places().values() if old != new)
    made["docs_rename/moves.csv"] = f"old,new\n{moves}".encode()
    return made


def hashes() -> tuple[list[str], list[str]]:
    """The tables `changed` and `untouched` of the task's check: run it after a change here and put them in."""
    target = re.compile(r"(\]\(|^\[[^\]\n]+\]: )([^)\s]*)", re.MULTILINE)
    old, new = render("old"), render("new")

    def digest(data: bytes) -> str:
        return sha256(data).hexdigest()[:10]

    def links(text: str, place: str) -> str:
        found = []
        for match in target.finditer(text):
            path, mark, name = match[2].partition("#")
            if "://" not in path:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
            found.append(path + mark + name)
        return "\n".join(found)

    changed, untouched = [], []
    for before, after in places().values():
        if before == after and old[before] == new[after]:
            untouched.append(f"{after} {digest(new[after])}")
            continue
        was, text = old[before].decode(), new[after].decode()
        same = [match[2] for match in target.finditer(was)] == [match[2] for match in target.finditer(text)]
        mark = "-" if same else digest(links(text, after).encode())
        changed.append(f"{after} {digest(target.sub(lambda match: match[1], text).encode())} {mark}")
    for name, data in files().items():
        name = name.removeprefix("docs_rename/")
        if not name.endswith(".md") or name == "RENAME.md":
            untouched.append(f"{name.removeprefix('site/')} {digest(data)}")
    return changed, untouched
