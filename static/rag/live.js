/* Keeps parts of a page up to date while something is in progress: those with the attribute data-live, and on the page
   of one row what cannot be changed, and its buttons. */
"use strict";

(function () {
  const PAUSE = 3000;

  async function refresh() {
    try {
      const reply = document.hidden ? null : await fetch(location.href);
      if (reply && reply.redirected) {
        return; // to the sign-in page: the session has ended
      }
      if (reply && reply.ok) {
        replaceParts(new DOMParser().parseFromString(await reply.text(), "text/html"));
      }
    } catch {
      // The connection is lost for a moment: ask again.
    }
    schedule();
  }

  function replaceParts(fresh) {
    const inLists = [...document.querySelectorAll("#result_list [data-live]")];
    for (const part of inLists) replace(part, fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`));
    for (const row of document.querySelectorAll(".change-form .form-row")) {
      const name = [...row.classList].find((name) => name.startsWith("field-"));
      replace(row.querySelector(".readonly"), fresh.querySelector(`.${CSS.escape(name)} .readonly`));
    }
    replace(document.querySelector(".row-actions"), fresh.querySelector(".row-actions"));
  }

  function replace(part, next) {
    if (part && next && next.outerHTML !== part.outerHTML) {
      part.replaceWith(document.importNode(next, true));
    }
  }

  function schedule() {
    if (document.querySelector("[data-live][data-open]")) {
      setTimeout(refresh, PAUSE);
    }
  }

  document.addEventListener("DOMContentLoaded", schedule); // the admin loads scripts before the page
})();
