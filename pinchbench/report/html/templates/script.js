// What a page can do: sort and filter its tables, show the page of a trial. Text from a run is only ever set as text.
const page = (() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null && value !== "") element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child != null && child !== ""));
    return element;
  }

  const asMarkdown = markdown(make);
  const many = (count, noun) => `${count} ${count === 1 ? noun : `${noun}s`}`;

  // Of the rows of a card's table, shows those that fit, and says how many there are
  function showRows(card, rows, fits) {
    for (const row of rows) row.hidden = !fits(row);
    const shown = rows.filter((row) => !row.hidden).length;
    card.querySelector(".shown").textContent = (shown === rows.length ? "" : `${shown} of `) + many(rows.length, "task");
    card.querySelector(".nothing").hidden = shown > 0;
  }
  function unfolder(button, unfold) {
    button.addEventListener("click", () => {
      const isOpen = button.textContent === "unfold all";
      unfold(isOpen);
      button.textContent = isOpen ? "fold all" : "unfold all";
    });
  }

  // Tables: a head's button sorts by its column, and turns the order when pressed again; empty cells stay last
  const words = new Intl.Collator("en", { numeric: true });
  function valueOf(row, column, kind) {
    const cell = (row.tagName === "TBODY" ? row.rows[0] : row).cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    return kind === "number" ? (text === "" ? NaN : Number(text)) : text;
  }
  function sortBy(table, head) {
    const kind = head.dataset.sort;
    const now = head.getAttribute("aria-sort");
    const other = { ascending: "descending", descending: "ascending" };
    const order = other[now] || head.dataset.first;
    for (const one of all("th[aria-sort]", table)) one.setAttribute("aria-sort", one === head ? order : "none");
    const sign = order === "ascending" ? 1 : -1;
    const column = head.cellIndex;
    const parent = table.dataset.rows === "bodies" ? table : table.tBodies[0];
    const rows = Array.from(table.dataset.rows === "bodies" ? table.tBodies : parent.rows);
    const keyed = rows.map((row) => [valueOf(row, column, kind), row]);
    const isEmpty = (value) => value === "" || Number.isNaN(value);
    keyed.sort(([a], [b]) => {
      if (isEmpty(a) || isEmpty(b)) return isEmpty(a) - isEmpty(b);
      return sign * (kind === "number" ? a - b : words.compare(a, b));
    });
    parent.append(...keyed.map(([, row]) => row));
  }
  for (const table of all("table[data-sortable]")) {
    for (const head of all("th[data-sort]", table)) {
      head.firstElementChild.addEventListener("click", () => sortBy(table, head));
    }
  }

  // Tasks: filters, and their trials folded away
  function unfold(body, isOpen) {
    body.classList.toggle("open", isOpen);
    body.querySelector(".unfold").setAttribute("aria-expanded", String(isOpen));
  }
  for (const card of all(".tasks")) {
    const form = card.querySelector(".controls");
    const bodies = Array.from(card.querySelector("table").tBodies);
    const texts = new Map();
    const filter = () => {
      const text = form.elements.text.value.trim().toLowerCase();
      const category = form.elements.category.value;
      const state = form.elements.state.value;
      showRows(card, bodies, (body) => {
        if (text && !texts.has(body)) texts.set(body, body.textContent.toLowerCase());
        return (!category || body.dataset.category === category)
          && (!state || body.dataset.states.split(" ").includes(state))
          && (!text || texts.get(body).includes(text));
      });
    };
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    unfolder(form.querySelector(".all-unfold"), (isOpen) => bodies.forEach((body) => unfold(body, isOpen)));
    card.querySelector("table").addEventListener("click", (event) => {
      const row = event.target.closest("tr.task");
      if (row && !event.target.closest("a")) unfold(row.parentElement, !row.parentElement.classList.contains("open"));
    });
    filter();
  }

  // Long text is cut, with a way to see all; `parts` makes of a text what is shown
  const MOST_CHARACTERS = 3000;
  const MOST_LINES = 30;
  function longText(tag, className, text, parts = (whole) => [whole]) {
    const lines = text.split("\n", MOST_LINES + 1);
    const start = lines.slice(0, MOST_LINES).join("\n").slice(0, MOST_CHARACTERS);
    if (start.length >= text.length - 200) return [make(tag, { class: className }, parts(text))];
    const shown = make(tag, { class: className }, parts(start + " …"));
    const button = make("button", { type: "button" }, `show all (${text.length.toLocaleString("en")} characters)`);
    const more = make("p", { class: "more" }, button);
    button.addEventListener("click", () => { shown.replaceChildren(...parts(text)); more.remove(); });
    return [shown, more];
  }
  function fold(summary, isOpen, ...children) {
    return make("details", { class: "fold", open: isOpen }, make("summary", {}, summary), ...children);
  }
  const badge = (text, kind) => make("span", { class: `badge ${kind}` }, text);
  const number = (score) => (score == null ? "–" : score.toFixed(2));
  const card = (title, small, ...children) =>
    make("section", { class: "card" }, make("h2", {}, title, small ? make("small", {}, small) : null), ...children);

  function facts(pairs) {
    return make("dl", { class: "facts" }, pairs.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }
  function points(breakdown) {
    if (!breakdown.length) return null;
    return make("div", { class: "points" }, breakdown.map(([name, value]) => {
      const bar = make("i");
      bar.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
      return [make("span", {}, name), make("span", { class: "meter" }, bar), make("span", {}, number(value))];
    }));
  }
  const list = (notes) => (notes.length ? make("ul", {}, notes.map((note) => make("li", {}, note))) : null);

  function gradePart(title, part, ...more) {
    const head = make("h3", {}, make("span", {}, title), make("span", {}, part.score == null ? part.ungraded || "no score" : number(part.score)));
    return make("div", { class: "part" }, head, points(part.breakdown), list(part.notes), more);
  }
  function grade(told) {
    if (!told) return card("Grade", "", make("p", { class: "soft" }, "Nobody has graded this trial."));
    const parts = [];
    if (told.check) parts.push(gradePart("Check", told.check, make("p", { class: "faint" }, `took ${told.check.time}`)));
    if (told.judge) {
      const several = told.judge.judges;
      for (const judge of [told.judge, ...several]) {
        const isMean = several.length && judge === told.judge;
        const votes = judge.votes.length > 1 ? `${isMean ? "scores" : "votes"} ${judge.votes.map(number).join(", ")} (spread ${number(judge.spread)}); ` : "";
        parts.push(gradePart(isMean ? "Mean of the judges" : several.length ? `Judge ${judge.model}` : "Judge", judge,
          make("p", { class: "faint" }, `${judge.model || "no judge"}: ${votes}${judge.spent}`),
          judge.reply && !isMean ? fold("the judge’s own text", false, ...longText("pre", "output", judge.reply)) : null));
      }
    }
    const own = told.check || told.judge ? [] : [list(told.notes)];
    return card("Grade", told.score == null ? `ungraded: ${told.ungraded}` : "", parts, own);
  }

  const WHO = { user: "User", assistant: "Model", tool: "Tool", note: "A line that could not be read" };
  function call(one) {
    const summary = make("span", {}, make("code", {}, one.name), one.brief ? ` ${one.brief}` : "", " ",
      one.error ? badge("error", "bad") : null, one.result === undefined ? badge("no answer", "warn") : null,
      one.after ? make("span", { class: "faint" }, ` ${one.after}`) : null);
    const result = one.result === undefined ? [] : [make("p", { class: "label" }, "answer"),
      ...longText("pre", one.error ? "output failed" : "output", one.result || "(empty)")];
    return fold(summary, false, make("p", { class: "label" }, "arguments"), ...longText("pre", "output", one.arguments), ...result);
  }
  function message(one, who) {
    const head = make("header", {}, make("b", {}, who), one.tool, one.after, one.used, one.is_error ? badge("error", "bad") : null);
    for (const child of Array.from(head.childNodes)) {
      if (child.nodeType === Node.TEXT_NODE) child.replaceWith(make("span", {}, child.textContent));
    }
    return make("div", { class: `message ${one.role}` }, head,
      one.thinking ? fold("thinking", false, ...longText("div", "text soft", one.thinking, asMarkdown)) : null,
      one.text ? longText(...(one.role === "tool" || one.role === "note" ? ["pre", "output", one.text] : ["div", "text", one.text, asMarkdown])) : null,
      one.calls.map(call),
      one.error ? make("p", { class: "error" }, one.error) : null,
      one.stop && !["stop", "toolUse", "end_turn", "error"].includes(one.stop) ? make("p", { class: "warn" }, `stopped: ${one.stop}`) : null);
  }
  function conversation(told) {
    const children = told.sessions.flatMap((session, index) => {
      const turns = session.filter((one) => one.role === "user").length;
      let turn = 0;
      const messages = session.map((one) => {
        const again = one.role === "user" && turns > 1 ? `, turn ${turn += 1}` : "";
        return message(one, WHO[one.role] + again);
      });
      return told.sessions.length > 1 ? [make("div", { class: "session" }, `session ${index + 1}`), ...messages] : messages;
    });
    const count = told.sessions.reduce((sum, session) => sum + session.length, 0);
    const every = make("button", { type: "button", class: "plain controls" }, "unfold all");
    const section = card("Conversation", count ? many(count, "message") : "", told.cut ? make("p", { class: "notice" }, told.cut) : null, children);
    unfolder(every, (isOpen) => all("details", section).forEach((one) => { one.open = isOpen; }));
    if (count) section.querySelector("h2").append(every);
    return section;
  }
  function modelCall(one) {
    const summary = make("span", {}, make("code", {}, `#${one.number}`), ` turn ${one.turn}, `,
      one.failed ? badge(`failed: ${one.failed}`, "bad") : one.status, one.model ? ` ${one.model}` : "",
      make("span", { class: "faint" }, ` ${one.timing}`));
    const part = (title, text) => [make("p", { class: "label" }, title), ...(text ? longText("pre", "output", text) : [])];
    return fold(summary, false,
      make("p", { class: "label" }, "request, compared with the one before"), one.changes.map((change) => part(change.title, change.text)).flat(),
      part("reply", one.reply || "(none)"), one.error ? make("p", { class: "error" }, one.error) : null);
  }
  function modelCalls(told) {
    if (!told.wire) return null;
    return card("Calls of the model", told.wire.count, told.wire.cache ? make("p", { class: "soft" }, told.wire.cache) : null, told.wire.cut ? make("p", { class: "notice" }, told.wire.cut) : null, told.wire.calls.map(modelCall));
  }
  function attempts(told, ways) {
    if (told.attempts.length < 2) return null;
    const head = ["attempt", "became", "time", "cost", "why"].map((name) => make("th", { scope: "col" }, name));
    const rows = told.attempts.map((one) => make("tr", {},
      make("th", { scope: "row" }, ways.attempt ? make("a", { href: ways.attempt(one.number) }, `attempt ${one.number}`) : `attempt ${one.number}`, one.chosen ? [" ", badge("shown here", "")] : null),
      make("td", {}, one.reason, one.counts ? null : make("div", { class: "faint" }, "excluded")),
      make("td", { class: "nowrap" }, one.time), make("td", {}, one.cost),
      make("td", {}, one.note, make("div", { class: "faint" }, make("code", {}, one.folder)))));
    return card("Attempts", "", make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Attempts" }, make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows))));
  }
  function waysWithin(told) {
    const to = (anchor) => anchor && `#${encodeURIComponent(anchor).replaceAll("%2F", "/").replaceAll("%40", "@")}`;
    const task = told.anchor.replace(/trial\/.*$/s, "task/") + told.title.replace(/@\d+$/, "");
    return { home: to(task), before: to(told.before), after: to(told.after) };
  }
  const BRIEF = ["Model", "Agent’s time", "Used", "Cost"]; // facts that are shown next to the score
  function trialPage(told, state, ways = waysWithin(told)) {
    const link = (href, text) => (href ? make("a", { href }, text) : null);
    return [
      make("div", { class: "trial-head" },
        make("span", { class: "back" }, link(ways.home, ways.up || "← all tasks")),
        make("nav", { class: "ways back", "aria-label": "Trials" }, link(ways.before, "previous trial"), link(ways.after, "next trial")),
        make("h1", { tabindex: "-1" }, told.task || told.title, told.task ? make("small", { class: "soft" }, ` ${told.title}`) : null),
        told.score === undefined ? null : make("p", { class: "big" }, told.score == null ? "no score" : number(told.score)),
        make("p", {}, state),
        make("p", { class: "soft" }, told.facts.filter(([name]) => BRIEF.includes(name)).map(([, value]) => value).join(" · ")),
        told.score === null ? make("p", {}, "This trial is not in the score: it says nothing about the model. The run’s page says how it can be tried again.") : null),
      told.notes.map((note) => make("p", { class: "notice" }, note)),
      told.grade || told.score !== null ? grade(told.grade) : null,
      attempts(told, ways),
      conversation(told),
      modelCalls(told),
      make("section", { class: "card" },
        fold("Facts: time, tokens, machine", false, facts(told.facts), make("p", { class: "faint" }, "Its files: ", make("code", {}, told.folder))),
        told.stderr.text ? fold(told.stderr.left_out ? `stderr: the last of it; ${told.stderr.left_out.toLocaleString("en")} bytes before it are left out` : "stderr", told.score === null,
          ...longText("pre", "output", told.stderr.text)) : null),
    ].flat().filter(Boolean);
  }

  // Shows the overview, or in its place what one of its rows leads to; back in the overview, says where that was left
  function switcher(place) {
    const overview = document.getElementById("overview");
    const title = document.title;
    return {
      show(name, children) {
        place.replaceChildren(...children);
        overview.hidden = true;
        place.hidden = false;
        document.title = `${name} · ${title}`;
        scrollTo(0, 0);
        place.querySelector("h1").focus({ preventScroll: true });
      },
      leave() {
        const wasShown = !place.hidden;
        place.hidden = true;
        place.replaceChildren();
        overview.hidden = false;
        document.title = title;
        return wasShown;
      },
    };
  }
  // Paper can't be unfolded
  addEventListener("beforeprint", () => {
    for (const details of all("#trial details, #pair details")) details.open = true;
    for (const button of all("#trial .more button, #pair .more button")) button.click();
  });

  // Addresses: `#trial/…` shows a trial, `#task/…` its row, all else the overview
  const place = document.getElementById("trial");
  const shared = { all, make, card, facts, message, WHO, showRows, switcher, trialPage }; // for the scripts of other pages
  if (!place) return shared;
  const { show, leave } = switcher(place);
  const data = new Map(all("script.trial-data").map((script) => [script.dataset.anchor, script]));
  const links = new Map(all("tr.trial a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  let left = 0; // how far the overview was scrolled
  function route() {
    let anchor = location.hash.slice(1);
    try { anchor = decodeURIComponent(anchor); } catch { /* as it stands */ }
    const script = data.get(anchor) || data.get(anchor.replace(/@1$/, ""));
    if (script) {
      if (place.hidden) left = scrollY;
      const told = JSON.parse(script.textContent);
      const row = links.get(told.anchor)?.closest("tr");
      const state = row ? Array.from(row.querySelector(".status").childNodes, (node) => node.cloneNode(true)) : [];
      show(told.task || told.title, trialPage(told, state));
      return;
    }
    const wasTrial = leave();
    for (const body of all("tbody.marked")) body.classList.remove("marked");
    const target = document.getElementById(anchor);
    if (target && target.tagName === "TBODY") {
      target.hidden = false;
      target.classList.add("marked");
      unfold(target, true);
      target.scrollIntoView({ block: "center" });
    } else if (target) target.scrollIntoView();
    else if (wasTrial) scrollTo(0, left);
  }
  addEventListener("hashchange", route);
  route();
  return shared;
})();
