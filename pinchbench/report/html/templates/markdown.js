"use strict";
// Markdown as elements, in time linear to the text. Text is only ever set as text; an address is shown, and leads nowhere.
const markdown = (make) => (text) => {
  const SPANS = /`([^`\n]+)`|\*\*(?=\S)([^*]+)(?<!\s)\*\*|(?<![\w*])\*(?=[\w"'(])([^*\n]+)(?<!\s)\*(?![\w*])|!?\[([^[\]\n]+)\]\(([^()\s]+)\)/g;
  const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(\S.*)$/;
  const DEEPEST = 8; // lists in lists
  function spans(line, isInner) {
    const parts = [];
    let at = 0;
    for (const { 0: whole, 1: code, 2: strong, 3: soft, 4: label, 5: address, index } of line.matchAll(SPANS)) {
      parts.push(line.slice(at, index), code ? make("code", {}, code) : strong ? make("strong", {}, isInner ? strong : spans(strong, true))
        : soft ? make("em", {}, soft) : `${label} (${address})`);
      at = index + whole.length;
    }
    return [...parts, line.slice(at)];
  }
  const isRow = (line) => line?.includes("|");
  const isRule = (line) => isRow(line) && line.includes("-") && !/[^\s|:-]/.test(line);
  const row = (line, tag) => make("tr", {}, line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/)
    .map((cell) => make(tag, {}, spans(cell.trim().replaceAll("\\|", "|")))));
  const lines = text.split("\n");
  const shown = make("div");
  let lists = []; // those that go on, the innermost last: how far each is indented, and its element
  let open = null; // the paragraph or item that the next line may go on with
  function item([, { length: indent }, number, told]) {
    while (lists.length > 1 && lists.at(-1).indent > indent) lists.pop();
    const tag = number ? "OL" : "UL";
    const isDeeper = lists.length && indent > lists.at(-1).indent + 1 && lists.length < DEEPEST;
    if (!isDeeper && lists.length && lists.at(-1).list.tagName !== tag) lists.pop();
    if (isDeeper || !lists.length || lists.at(-1).list.tagName !== tag) {
      const list = make(tag);
      (lists.length ? lists.at(-1).list.lastChild : shown).append(list);
      lists.push({ indent, list });
    }
    open = make("li", { value: number }, spans(told));
    lists.at(-1).list.append(open);
  }
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const [, fence, kind] = /^\s*(`{3,}|~{3,})([^`]*)$/.exec(line) ?? [];
    const [, title] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
    const [, quote] = /^\s{0,3}>\s?(.*)$/.exec(line) ?? [];
    const isBreak = /^\s*([-*_])(\s*\1){2,}\s*$/.test(line);
    const listed = isBreak ? null : ITEM.exec(line);
    if (isBreak || title || (/^\S/.test(line) && !listed && !open)) lists = [];
    const place = lists.length ? lists.at(-1).list.lastChild : shown;
    const kindOf = quote === undefined ? "" : "quote";
    if (line.trim() && open && open.className === kindOf && !fence && !title && !isBreak && !listed && !(isRow(line) && isRule(lines[at + 1]))) {
      open.append("\n", ...spans(quote ?? (lists.length ? line.trimStart() : line)));
      continue;
    }
    open = null;
    if (fence) {
      const start = at + 1;
      do at += 1; while (at < lines.length && !lines[at].trim().startsWith(fence));
      place.append(...(kind.trim() ? [make("p", { class: "faint" }, kind)] : []), make("pre", { class: "output" }, lines.slice(start, at).join("\n")));
    } else if (isRow(line) && isRule(lines[at + 1])) {
      const body = make("tbody");
      for (at += 2; isRow(lines[at]); at += 1) body.append(row(lines[at], "td"));
      at -= 1;
      place.append(make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" }, make("table", {}, make("thead", {}, row(line, "th")), body)));
    } else if (isBreak) shown.append(make("hr"));
    else if (title) shown.append(make("p", {}, make("strong", {}, spans(title, true))));
    else if (listed) item(listed);
    else if (line.trim()) place.append(open = make("p", { class: kindOf }, spans(quote ?? line)));
  }
  return [...shown.childNodes];
};
