/* Keeps parts of a page up to date while something is in progress: they have the attribute data-live. */
"use strict";

(function () {
  const PAUSE = 3000;

  async function refresh() {
    try {
      const reply = document.hidden ? null : await fetch(location.href);
      if (reply && reply.ok && !reply.redirected) {
        replaceParts(new DOMParser().parseFromString(await reply.text(), "text/html"));
      }
    } catch {
      // The connection is lost for a moment: ask again.
    }
    schedule();
  }

  function replaceParts(fresh) {
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.querySelector('[data-live="' + CSS.escape(part.dataset.live) + '"]');
      if (next && next.outerHTML !== part.outerHTML) {
        part.replaceWith(document.importNode(next, true));
      }
    }
  }

  function schedule() {
    if (document.querySelector("[data-live][data-open]")) {
      setTimeout(refresh, PAUSE);
    }
  }

  document.addEventListener("DOMContentLoaded", schedule); // the admin loads scripts before the page
})();
