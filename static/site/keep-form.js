// Keeps what was typed into a form of the admin, if it has to be sent again because the session had ended.
"use strict";

(function () {
  const KEY = "unsaved-form";
  const NOTICE = document.currentScript.dataset.notice;
  const MAX_ADDED_ROWS = 20;
  const IGNORED_TYPES = ["hidden", "password", "file", "submit", "button"];

  function readAccount() {
    const link = document.querySelector(".account-name");
    return { account: link?.title, signedIn: link?.dataset.signedIn };
  }

  function readField(field) {
    const chosen = field.selectedOptions && [...field.selectedOptions].map((option) => [option.value, option.text]);
    return { name: field.name, value: field.value, checked: field.checked, chosen };
  }

  function remember(form) {
    // With the version of the row: somebody may have changed it meanwhile.
    const isKept = (field) => field.name === "version" || !IGNORED_TYPES.includes(field.type);
    const fields = [...form.elements].filter((field) => field.name && isKept(field));
    const kept = { ...readAccount(), path: location.pathname, fields: fields.map(readField) };
    sessionStorage.setItem(KEY, JSON.stringify(kept));
  }

  function findField(form, { name, value, checked }) {
    const fields = [...form.elements].filter((field) => field.name === name);
    return checked === undefined || fields.length < 2 ? fields[0] : fields.find((field) => field.value === value);
  }

  // A row that was added by hand: "grants-1-grantee" is in the table "grants-group".
  function addRow(name) {
    const button = document.querySelector(`#${CSS.escape(name.split("-")[0])}-group .add-row a`);
    button?.click();
    return Boolean(button);
  }

  function writeField(field, { value, checked, chosen }) {
    if (chosen) {
      for (const option of [...field.options]) option.selected = false;
      for (const [value, text] of chosen) {
        const option = [...field.options].find((option) => option.value === value);
        if (option) option.selected = true;
        else field.add(new Option(text, value, true, true));
      }
    } else if (["checkbox", "radio"].includes(field.type)) {
      field.checked = checked;
    } else {
      field.value = value;
    }
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function restore(form, kept) {
    let addedRows = 0;
    for (const stored of kept.fields) {
      let field = findField(form, stored);
      while (!field && addedRows < MAX_ADDED_ROWS && addRow(stored.name)) {
        addedRows += 1;
        field = findField(form, stored);
      }
      if (field) writeField(field, stored);
    }
    const notice = document.createElement("p");
    notice.className = "errornote";
    notice.setAttribute("role", "status");
    notice.textContent = NOTICE;
    form.prepend(notice);
  }

  // The same person, on the same page, has signed in again. Otherwise the form was saved.
  function isLost(kept) {
    const { account, signedIn } = readAccount();
    return kept.account === account && kept.signedIn !== signedIn && kept.path === location.pathname;
  }

  // After the scripts of Django's admin have prepared the form: jQuery calls in the order of registration.
  window.django?.jQuery?.(function () {
    const form = document.querySelector("#content-main > form[id$=_form]");
    const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
    sessionStorage.removeItem(KEY);
    if (!form) return;
    // The page that answers the form has a message: it is saved, or has errors and what was typed.
    const isAnswered = document.querySelector(".messagelist, .errornote");
    if (kept && !isAnswered && isLost(kept)) restore(form, kept);
    form.addEventListener("submit", () => remember(form));
  });
})();
