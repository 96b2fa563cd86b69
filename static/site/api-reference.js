// Shows the API reference in the colours that the visitor's system prefers. Swagger UI has both.
"use strict";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function applyTheme() {
  document.documentElement.classList.toggle("dark-mode", prefersDark.matches);
}

prefersDark.addEventListener("change", applyTheme);
applyTheme();

// A token in the field for keys would only be refused with the first request.
document.addEventListener("input", ({ target }) => {
  const section = target.closest?.(".auth-container");
  if (!section || target.type === "checkbox") return;
  const isKeyField = section.querySelector("h4 code")?.textContent === "apiKey";
  const isToken = /^\s*(Bearer\s+)?eyJ[\w-]+\.[\w-]+\.[\w-]+\s*$/.test(target.value);
  let hint = section.querySelector(".token-hint");
  if (!isKeyField || !isToken) {
    hint?.remove();
    return;
  }
  if (hint) return;
  hint = document.createElement("p");
  hint.className = "token-hint";
  hint.setAttribute("role", "alert");
  hint.textContent = "This is an access token and not an API key. Paste it under “bearer” instead.";
  target.after(hint);
});
