// What the site adds: what is live, keys, the search in a conversation. Text from a run is only ever set as text.
(() => {
  const { all, make, trialPage } = page;
  const time = (seconds) => (seconds < 60 ? `${seconds.toFixed(0)} s` : `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`);

  // A page that waits for runs to be read asks again
  const waiting = document.querySelector("[data-reload]");
  if (waiting) setTimeout(() => location.reload(), 1000 * Number(waiting.dataset.reload));

  // A stream of states; the browser itself connects again when it breaks
  function follow(url, show) {
    const source = new EventSource(url);
    source.addEventListener("state", (event) => show(JSON.parse(event.data)));
    source.addEventListener("end", () => source.close());
    addEventListener("pagehide", () => source.close());
  }

  // A run
  const live = document.getElementById("live");
  if (live) {
    const part = (name) => document.querySelector(`[data-${name}]`);
    const first = JSON.parse(document.getElementById("live-data").textContent);
    const items = (place, texts) => place.replaceChildren(...texts.map((text) => make("li", {}, text)));
    let slotRows = new Map();
    const slotRow = (one) => make("tr", {},
      make("td", { class: "number" }, String(one.slot)), make("td", {}, make("a", { href: one.href }, one.trial), one.node ? ` on ${one.node}` : ""),
      make("td", { class: "nowrap" }, make("progress", { class: "elapsed", max: String(one.timeout_s || 1), "aria-label": `time of ${one.trial}` }), make("span", {})),
      make("td", {}));
    const showSlots = (slots) => {
      const before = slotRows;
      slotRows = new Map(slots.map((one) => [`${one.slot} ${one.trial}`, before.get(`${one.slot} ${one.trial}`) || slotRow(one)]));
      if ([...slotRows.keys()].join() !== [...before.keys()].join()) part("slots").replaceChildren(...slotRows.values());
      for (const one of slots) {
        const row = slotRows.get(`${one.slot} ${one.trial}`);
        row.querySelector("progress").value = Math.min(one.elapsed_s, one.timeout_s);
        row.querySelector("span").textContent = ` ${time(one.elapsed_s)} of ${time(one.timeout_s)}`;
        row.children[3].textContent = one.call_s == null ? "–" : `${time(one.call_s)} ago`;
      }
    };
    const show = (state) => {
      const { mean, low, high } = state.score;
      live.querySelector("progress").value = state.ended;
      part("mean").classList.toggle("none", mean == null);
      part("mean").textContent = mean == null ? "no score yet" : mean.toFixed(3);
      part("interval").textContent = low == null ? "no interval yet" : `95% interval ${low.toFixed(3)} to ${high.toFixed(3)}`;
      const bar = (kind, x, width) => {
        live.querySelector(`.span .${kind}`).setAttribute("x", x);
        live.querySelector(`.span .${kind}`).setAttribute("width", width);
      };
      bar("interval", low * 100, low == null ? 0 : Math.max((high - low) * 100, 0.6));
      bar("mean", mean * 98.4, mean == null ? 0 : 1.6);
      part("running").textContent = state.state;
      part("running").className = `badge ${["unfinished", "interrupted"].includes(state.state) ? "warn" : "good"}`;
      part("pause").hidden = state.state !== "running";
      items(part("totals"), state.totals);
      items(part("wire"), state.wire);
      part("slots-card").hidden = !state.slots.length;
      showSlots(state.slots);
      part("failures-card").hidden = !state.failures.length;
      part("failures").replaceChildren(...state.failures.map((one) => make("li", {},
        make("a", { href: one.href }, one.trial), " ", make("span", { class: `badge ${one.ours ? "warn" : "bad"}` }, one.label), one.text ? make("span", { class: "soft" }, ` ${one.text}`) : null)));
      const ended = state.ended - first.ended;
      part("new").hidden = ended < 1;
      part("new").replaceChildren(`${ended} ${ended === 1 ? "trial has" : "trials have"} ended since this page was loaded. `, make("a", { href: location.href }, "show in the table"));
      document.title = document.title.replace(/^(\(.*?\) )?/, state.state === "running" ? `(${state.ended}) ` : "");
    };
    show(first);
    if (first.state === "running") follow(live.dataset.events, show);
  }

  // What can be copied
  function copyButton(label, read) {
    const button = make("button", { class: "plain copy", type: "button" }, label);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(read());
        button.textContent = "copied";
      } catch { button.textContent = "this browser does not let pages copy here"; }
    });
    return button;
  }
  for (const one of all("[data-resume] code, [data-pause] code")) one.after(" ", copyButton("copy", () => one.textContent));
  for (const one of all("details.fold > pre.output")) {
    const ways = one.parentElement.querySelector(".file-ways") || make("p", { class: "ways file-ways" });
    ways.append(copyButton("copy", () => one.textContent));
    if (!ways.isConnected) one.before(ways);
  }

  // A trial
  const place = document.getElementById("served-trial");
  if (place) {
    const first = JSON.parse(document.getElementById("served-data").textContent);
    const ways = { ...first.ways, up: "← the run", attempt: (number) => `?attempt=${number}` };
    const search = make("input", { type: "search", placeholder: "search the conversation", autocomplete: "off", "aria-label": "Search the conversation", "data-search": true });
    const count = make("span", { class: "soft", role: "status" });
    const copy = copyButton("copy the conversation", () => all(".message", place).filter((one) => !one.hidden).map((one) => one.textContent).join("\n\n"));
    const box = make("div", { class: "controls" }, make("label", {}, search), count, copy, make("a", { href: first.download, download: true }, "download the transcript"));
    const find = () => {
      const text = search.value.trim().toLowerCase();
      const messages = all(".message", place);
      let shown = 0;
      for (const one of messages) {
        one.hidden = Boolean(text) && !one.textContent.toLowerCase().includes(text);
        shown += !one.hidden;
      }
      count.textContent = text ? `${shown} of ${messages.length} messages` : "";
    };
    search.addEventListener("input", find);
    const show = (trial) => {
      const open = new Set(all("details[open]", place).map((one) => one.firstElementChild.textContent));
      const hadFocus = document.activeElement === search;
      const badge = [make("span", { class: `badge ${trial.state.badge}` }, trial.state.text), trial.state.more ? make("span", { class: "soft" }, ` ${trial.state.more}`) : null].filter(Boolean);
      place.replaceChildren(...trialPage(trial, badge, ways));
      for (const one of all("details", place)) if (open.has(one.firstElementChild.textContent)) one.open = true;
      const message = place.querySelector(".message");
      if (message) message.before(box);
      find();
      if (hadFocus) search.focus();
    };
    show(first);
    if (first.events) follow(first.events, show);
  }

  // Keys
  const dialog = document.getElementById("keys");
  const rows = () => all("[data-row], .message").filter((row) => row.offsetParent !== null);
  function step(by) {
    const found = rows();
    const at = found.findIndex((row) => row.classList.contains("at"));
    const next = found[at < 0 ? (by > 0 ? 0 : found.length - 1) : Math.min(found.length - 1, Math.max(0, at + by))];
    if (!next) return;
    for (const row of all(".at")) row.classList.remove("at");
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    const target = next.querySelector("a");
    if (target && !next.classList.contains("message")) target.focus({ preventScroll: true });
    else { next.tabIndex = -1; next.focus({ preventScroll: true }); }
  }
  const actions = {
    j: () => step(1),
    k: () => step(-1),
    "/": () => document.querySelector("[data-search]")?.focus(),
    g: () => { location.href = "/"; },
    u: () => (document.querySelector(".trial-head .back a") ?? document.querySelector(".site a"))?.click(),
    "?": () => dialog.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("[data-search]")) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  });
})();
