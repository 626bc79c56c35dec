// The trajectory viewer. Everything a model or an environment said is set as text, never as HTML.
"use strict";
// The page may add episodes while it is open: window.rlaViewer.add(episodes), and clear().
(() => {
  const byId = (id) => document.getElementById(id);
  const list = byId("list"), detail = byId("episode"), count = byId("count");
  const phases = { train: "training", eval_before: "evaluation before", eval_after: "evaluation after" };
  const outcomes = { won: "solved", lost: "not solved", failed: "agent failed, counted as lost", broken: "machinery failed" };
  const selects = {
    phase: (phase) => phases[phase] || phase, outcome: (outcome) => outcomes[outcome], type: (type) => type,
  };
  // A page that follows a run shows the latest first, and no more than it was told to keep.
  const most = Number(byId("viewer").dataset.most) || Infinity;
  let entries = [], shown = [], current = null, numbered = 0;

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(2);
  const where = (episode) =>
    episode.phase === "train" ? "iteration " + episode.iteration : phases[episode.phase] || episode.phase;
  const textOf = (episode) =>
    [episode.goal, episode.task, episode.error, episode.prompt,
      ...episode.steps.flatMap((step) => [step.action, step.next, step.verdict])]
      .join("\n").toLowerCase();

  // Small copies are in the page; a live page asks for the files, and any other links them.
  const screen = (source, what) => {
    if (!source) return [];
    if (most === Infinity && !source.startsWith("data:image/")) {
      const link = make("a", "screen", what);
      link.href = source;
      return [link];
    }
    const image = make("img", "screen");
    image.loading = "lazy";
    image.alt = what;
    image.src = source;
    return [image];
  };

  // Where there is a picture, an accessibility tree beside it would hide the next step.
  const said = (text, screenshot) => {
    if (!screenshot || text.length < 300) return make("div", "", text);
    const folded = make("details");
    folded.append(make("summary", "", "Its text"), make("div", "", text));
    return folded;
  };

  const add = (episodes) => {
    for (const episode of episodes) {
      const entry = { episode, text: textOf(episode), item: make("li", episode.outcome, episode.goal || episode.task) };
      entry.item.id = "episode-" + numbered++;
      entry.item.setAttribute("role", "option");
      entry.item.append(make("small", "",
        outcomes[episode.outcome] + ", " + episode.steps.length + " steps · " + where(episode)));
      entry.item.addEventListener("click", () => open(entry));
      if (most === Infinity) entries.push(entry); else entries.unshift(entry);
    }
    entries = entries.slice(0, most);
    fill();
    filter();
  };

  const fill = () => {
    for (const [id, label] of Object.entries(selects)) {
      const select = byId(id), there = new Set([...select.options].map((option) => option.value));
      for (const value of [...new Set(entries.map((entry) => entry.episode[id]))].filter(Boolean).sort()) {
        if (there.has(value)) continue;
        const option = make("option", "", label(value));
        option.value = value;
        select.append(option);
      }
    }
    byId("type").parentElement.hidden = byId("type").options.length === 1;
  };

  const filter = () => {
    const [phase, outcome, type] = Object.keys(selects).map((id) => byId(id).value);
    const wanted = byId("search").value.trim().toLowerCase();
    shown = entries.filter(({ episode, text }) =>
      (!phase || episode.phase === phase) && (!outcome || episode.outcome === outcome) &&
      (!type || episode.type === type) && (!wanted || text.includes(wanted)));
    count.textContent = shown.length + " of " + entries.length;
    list.replaceChildren(...shown.map((entry) => entry.item));
    // What is being read stays open when episodes come in.
    if (!shown.includes(current) || current === null) open(shown.length ? shown[0] : null);
  };

  const open = (entry) => {
    if (current) current.item.setAttribute("aria-selected", "false");
    current = entry;
    detail.replaceChildren();
    detail.className = "";
    list.removeAttribute("aria-activedescendant");
    if (entry === null) { detail.append(make("p", "empty", entries.length ? "No episode matches." : "No episode has ended yet.")); return; }
    const item = entry.item;
    item.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", item.id);
    if (item.offsetTop < list.scrollTop + list.offsetTop) list.scrollTop = item.offsetTop - list.offsetTop;
    const below = item.offsetTop - list.offsetTop + item.offsetHeight - list.clientHeight;
    if (below > list.scrollTop) list.scrollTop = below;
    show(entry.episode);
    detail.scrollTop = 0;
  };

  const show = (episode) => {
    detail.className = episode.drawn ? "drawn" : "";
    detail.append(make("h3", "", episode.goal || episode.task));
    const facts = [
      where(episode), outcomes[episode.outcome] + (episode.outcome === "lost" && episode.stop ? " (" + episode.stop + ")" : ""),
      episode.steps.length + " steps" + (episode.optimal ? ", optimal " + episode.optimal : ""),
      episode.tokens ? episode.tokens + " tokens" : "", episode.task, "seed " + episode.seed,
      episode.retries ? episode.retries + " retries" : "",
    ];
    detail.append(make("p", "quiet", facts.filter(Boolean).join(" · ")));
    const difficulty = Object.entries(episode.difficulty).map(([name, value]) => name + " " + value).join(", ");
    if (difficulty) detail.append(make("p", "quiet", "Difficulty: " + difficulty));
    if (episode.error) detail.append(make("p", "warning text", episode.error));
    detail.append(...screen(episode.screenshot, "Screen at the beginning"), make("div", "text prompt", episode.prompt));
    if (!episode.steps.length) { detail.append(make("p", "empty", "No step was taken.")); return; }
    const some = (has) => episode.steps.some(has);
    // Columns that say nothing about this episode are left out.
    const columns = {
      verdict: some((step) => step.verdict), votes: some((step) => step.votes.length),
      oracle: some((step) => step.oracle !== null), advantage: some((step) => step.advantage !== null),
    };
    const table = make("table");
    const head = table.createTHead().insertRow();
    for (const [name, className, wanted] of [["#", "number", true], ["Action", "", true],
      ["What came back", "", true], ["Verdict", "", columns.verdict], ["Votes", "", columns.votes],
      ["Oracle", "", columns.oracle], ["Reward", "number", true], ["Advantage", "number", columns.advantage]]) {
      if (!wanted) continue;
      const cell = make("th", className, name);
      cell.scope = "col";
      head.append(cell);
    }
    const body = table.createTBody();
    episode.steps.forEach((step, index) => body.append(row(step, index, columns)));
    detail.append(table);
  };

  const chip = (vote) => {
    const element = make("span", "chip " + (vote > 0 ? "good" : vote < 0 ? "bad" : ""), vote > 0 ? "+" : vote < 0 ? "−" : "?");
    element.title = vote > 0 ? "good step" : vote < 0 ? "bad step" : "malformed";
    return element;
  };

  const row = (step, index, columns) => {
    const line = make("tr");
    line.append(make("td", "number", index + 1), make("td", "action text" + (step.action.includes("\n") ? " code" : ""), step.action));
    const result = make("td", "text result");
    result.append(...screen(step.screenshot, "Screen after step " + (index + 1)), said(step.next, step.screenshot));
    if (step.error) result.append(make("div", "mistake", step.error));
    const votes = make("td", "votes");
    for (const vote of step.votes) votes.append(chip(vote), " ");
    const oracle = make("td");
    if (step.oracle !== null) oracle.append(chip(step.oracle));
    const advantage = make("td", "number advantage", step.advantage === null ? "–" : signed(step.advantage));
    if (step.advantage === null) advantage.title = "does not train";
    else {
      advantage.classList.add(step.advantage >= 0 ? "plus" : "minus");
      advantage.style.setProperty("--tint", Math.min(1, Math.abs(step.advantage) / 2).toFixed(2));
    }
    line.append(result);
    if (columns.verdict) line.append(make("td", "text verdict", step.verdict));
    if (columns.votes) line.append(votes);
    if (columns.oracle) line.append(oracle);
    line.append(make("td", "number", step.reward === null ? "–" : signed(step.reward)));
    if (columns.advantage) line.append(advantage);
    return line;
  };

  const move = (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || !shown.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open(shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(current) + step))]);
  };
  list.addEventListener("keydown", move);
  // In the episode the arrows scroll; only the letters move on.
  detail.addEventListener("keydown", (event) => { if (event.key === "j" || event.key === "k") move(event); });
  for (const id of Object.keys(selects)) byId(id).addEventListener("change", filter);
  byId("search").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  // A link "#trace-7" elsewhere on the page opens the episode whose place is 7.
  const follow = () => {
    const place = /^#trace-(\d+)$/.exec(location.hash);
    const entry = place && entries.find(({ episode }) => episode.place === Number(place[1]));
    if (!entry) return;
    for (const id of [...Object.keys(selects), "search"]) byId(id).value = "";
    filter();
    open(entry);
    byId("viewer").scrollIntoView();
    list.focus({ preventScroll: true });
  };
  window.addEventListener("hashchange", follow);
  window.rlaViewer = { add, clear: () => { entries = []; filter(); } };
  byId("viewer").hidden = false;
  add(JSON.parse(byId("episodes").textContent));
  follow();
})();
