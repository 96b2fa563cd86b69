// Loads the figures of the page "Operations" again every few seconds. Without this script the page can be reloaded.
"use strict";

const INTERVAL_MS = 5000;
const live = document.getElementById("live");
const state = document.getElementById("refresh-state");
const announcement = document.getElementById("announcement");
const pause = document.getElementById("refresh-pause");
let isPaused = false;

function headline() {
  return document.getElementById("headline").textContent;
}

// What the visitor is doing in the figures: replacing them would take away the focus or the selected text.
function isInUse() {
  const selection = document.getSelection();
  return live.contains(document.activeElement) || (selection && !selection.isCollapsed && live.contains(selection.anchorNode));
}

async function refresh() {
  if (isPaused || document.hidden || isInUse()) return;
  try {
    const response = await fetch(live.dataset.url, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    const html = await response.text();
    if (isPaused || isInUse()) return;
    const before = headline();
    live.innerHTML = html; // rendered and escaped by the server
    if (headline() !== before) announcement.textContent = headline();
    state.textContent = state.dataset.updated;
  } catch {
    state.textContent = state.dataset.lost;
  }
}

pause.hidden = false;
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.textContent = isPaused ? pause.dataset.continue : pause.dataset.pause;
  state.textContent = isPaused ? state.dataset.paused : state.dataset.updated;
  refresh();
});
state.textContent = state.dataset.updated;
setInterval(refresh, INTERVAL_MS);
