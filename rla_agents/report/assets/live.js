// Follows the run: parts of the page come as HTML that the server has escaped, episodes as data.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const state = byId("state"), age = byId("age");
  const clock = () => new Date().toLocaleTimeString();
  let last = "", lost = null, news = null, source;

  const say = (name, text) => {
    if (state.dataset.state === name && name !== "again") return;
    state.dataset.state = name;
    state.textContent = text;
  };

  const change = (event) => {
    last = event.lastEventId;
    news = Date.now();
    const { reset, parts, episodes } = JSON.parse(event.data);
    if (reset) window.rlaViewer.clear();
    for (const [name, html] of Object.entries(parts)) byId("part-" + name).innerHTML = html;
    if (episodes.length) window.rlaViewer.add(episodes);
    tick();
  };

  const connect = () => {
    // The browser sends the last id when it reconnects by itself; a new source has to be told.
    source = new EventSource("events" + (last ? "?after=" + encodeURIComponent(last) : ""));
    source.addEventListener("change", change);
    source.addEventListener("open", () => {
      if (lost === null) say("live", "Connected.");
      else say("again", "Connected again at " + clock() + ", after " + Math.max(1, Math.round((Date.now() - lost) / 1000)) + " s.");
      lost = null;
    });
    source.addEventListener("error", () => {
      if (lost === null) lost = Date.now();
      say("lost", "Connection lost at " + clock() + ": is rla serve still running? Trying again.");
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  };

  const tick = () => {
    if (news === null) return;
    const seconds = Math.round((Date.now() - news) / 1000);
    const text = seconds < 5 ? "just now" : seconds < 120 ? seconds + " s ago" : Math.round(seconds / 60) + " min ago";
    age.textContent = "Last news of the run: " + text + ".";
  };

  setInterval(tick, 1000);
  connect();
})();
