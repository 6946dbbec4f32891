// What the page of an experiment can do: show only tasks that differ, and two trials side by side, which have an
// address: `#pair/VARIANT/TRIAL`.
(() => {
  const { all, make, card, facts, message, WHO, showRows, switcher } = page;
  const place = document.getElementById("pair");
  const { show, leave } = switcher(place);
  const tasks = document.getElementById("tasks");
  const table = tasks.querySelector("table");
  const form = tasks.querySelector("form");

  // Tasks: which are shown
  function showTasks() {
    showRows(tasks, Array.from(table.tBodies[0].rows), (row) => !form.elements.different.checked || "different" in row.dataset);
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", showTasks);
  showTasks();

  // Two trials side by side
  const data = new Map(all("script.trial-data").map((script) => [script.dataset.anchor, script]));
  const embedded = document.getElementById("pairs");
  const pairs = embedded ? JSON.parse(embedded.textContent) : {};
  const baseline = embedded?.dataset.baseline;
  const addressOf = (anchor) => `#pair/${anchor.split("/").map((part) => encodeURIComponent(part).replaceAll("%40", "@")).join("/")}`;
  const split = (anchor) => [anchor.slice(0, anchor.indexOf("/")), anchor.slice(anchor.indexOf("/") + 1)];
  const taskOf = (trial) => trial.replace(/@\d+$/, "");
  const box = table.parentElement;
  let left = [0, 0]; // how far the overview and its table of tasks were scrolled

  function messagesOf(trial) {
    return trial.sessions.flat().map((one) => message(one, WHO[one.role]));
  }
  function sentence(pair, alike) {
    if (!pair) return "The conversations are alike to their ends: the same messages and the same tool calls.";
    const before = alike === 1 ? "The first message is alike" : `The first ${alike} messages are alike`;
    const where = pair.part === "one ends here" ? "then one of the conversations ends" : `the first difference is in ${pair.part}`;
    return alike ? `${before}; ${where}.` : `${where[0].toUpperCase()}${where.slice(1)}, in the first message.`;
  }
  function choices(label, anchors, current, nameOf) {
    if (anchors.length < 2) return null;
    return make("nav", { class: "ways", "aria-label": label }, label, anchors.map((anchor) =>
      make("a", { href: addressOf(anchor), "aria-current": anchor === current ? "page" : null }, nameOf(anchor))));
  }
  function pairPage(anchor) {
    const [variant, trial] = split(anchor);
    const [mine, theirs] = [`${baseline}/${trial}`, anchor].map((one) => JSON.parse(data.get(one).textContent));
    const own = [messagesOf(mine), messagesOf(theirs)];
    const pair = pairs[anchor];
    const shortest = Math.min(own[0].length, own[1].length);
    const alike = pair ? Math.min(pair.at, shortest) : shortest;
    if (pair) for (const side of own) side[alike]?.classList.add("first-difference");
    const anchors = Object.keys(pairs);
    const column = (side, messages) => make("div", {},
      card(side.variant, trial, facts(side.facts), side.cut ? make("p", { class: "notice" }, side.cut) : null),
      messages.slice(alike).length ? messages.slice(alike) : make("p", { class: "soft" }, "This conversation has ended."));
    return [
      make("div", { class: "trial-head" },
        make("span", { class: "back" }, make("a", { href: "#tasks" }, "← all tasks")),
        choices("Repetition", anchors.filter((one) => split(one)[0] === variant && taskOf(split(one)[1]) === taskOf(trial)), anchor,
          (one) => /@(\d+)$/.exec(one)?.[1] ?? "1"),
        choices("Variant", anchors.filter((one) => split(one)[1] === trial), anchor, (one) => split(one)[0]),
        make("h1", { tabindex: "-1" }, `${mine.title}: ${baseline} and ${variant}`)),
      make("p", {}, sentence(pair, alike)),
      alike ? make("details", { class: "fold alike" }, make("summary", {}, alike === 1 ? "1 message on both sides" : `${alike} messages on both sides`), own[0].slice(0, alike)) : null,
      make("div", { class: "sides" }, column(mine, own[0]), column(theirs, own[1])),
    ].filter(Boolean);
  }

  // Addresses
  function route() {
    let anchor = location.hash.slice(1);
    try { anchor = decodeURIComponent(anchor); } catch { /* as it stands */ }
    const trial = anchor.startsWith("pair/") ? anchor.slice(5) : "";
    if (Object.hasOwn(pairs, trial)) {
      if (place.hidden) left = [scrollY, box.scrollTop];
      show(trial, pairPage(trial));
      return;
    }
    if (leave()) {
      scrollTo(0, left[0]);
      box.scrollTop = left[1];
    }
  }
  addEventListener("hashchange", route);
  route();
})();
