// A form is sent once: a second click would send it again, and the answer to the first one would not be seen.
"use strict";

(function () {
  // After this time the form can be sent again: its answer may be a file, after which the page stays.
  const PAUSE = 10_000;
  const sent = new Set();

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method")?.toLowerCase() !== "post") return; // a script sends it
    if (sent.has(form)) {
      event.preventDefault();
      return;
    }
    sent.add(form);
    form.setAttribute("aria-busy", "true");
    setTimeout(release, PAUSE, form);
  });

  function release(form) {
    sent.delete(form);
    form.removeAttribute("aria-busy");
  }

  // The page is shown again, as it was left, after "Back".
  window.addEventListener("pageshow", () => [...sent].forEach(release));
})();
