// The page "Ask": shows an answer while it is written. Without this script the form is an ordinary one.
"use strict";

const form = document.getElementById("ask-form");
const thread = document.getElementById("thread");
let running = null; // the request whose answer is being written

function showExchange(question) {
  const article = document.getElementById("exchange-template").content.firstElementChild.cloneNode(true);
  article.querySelector(".question").textContent = question;
  thread.append(article);
  document.getElementById("main").classList.add("has-thread");
  article.scrollIntoView({ block: "start" });
  return article;
}

// Yields the server-sent events of a response: name and data.
async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const name = lines.find((line) => line.startsWith("event: "));
      const data = lines.find((line) => line.startsWith("data: "));
      if (name && data) yield [name.slice(7), JSON.parse(data.slice(6))];
    }
  }
}

function finish(article, data) {
  article.innerHTML = data.html; // rendered and escaped by the server
  if (!data.url) return;
  form.elements.conversation.value = data.conversation;
  history.replaceState(null, "", data.url);
  if (form.dataset.new === undefined) return;
  // The first answer of a conversation: the page is now that of the conversation.
  delete form.dataset.new;
  document.querySelector(".ask-heading").innerHTML = data.heading; // rendered and escaped by the server
  document.title = `${data.title} · ragsite`;
  form.elements.question.placeholder = form.dataset.followUp;
}

async function showAnswer(article, response) {
  const stage = article.querySelector(".stage");
  const text = article.querySelector(".answer-text");
  for await (const [name, data] of readEvents(response)) {
    if (name === "sources") {
      stage.textContent = data.text;
    } else if (name === "token") {
      text.textContent += data.text;
    } else if (name === "done") {
      finish(article, data);
      return;
    } else if (name === "error") {
      showProblem(article, data.html);
      return;
    }
  }
  throw new Error("the answer ended early");
}

function showProblem(article, html) {
  article.querySelector(".answer").outerHTML = html; // rendered and escaped by the server
  giveBack(article.querySelector(".question").textContent);
}

// Puts a question without an answer into the field again, unless the next one is being typed.
function giveBack(question) {
  if (form.elements.question.value) return;
  form.elements.question.value = question;
  resize();
}

// Loads the page again with the question in its field, also after a sign-in, but only for the same account.
function reloadWith(question) {
  const account = document.querySelector(".account-name").title;
  sessionStorage.setItem("unanswered", JSON.stringify({ account, question }));
  location.reload();
}

function takeUnanswered() {
  const { account, question } = JSON.parse(sessionStorage.getItem("unanswered") || "{}");
  sessionStorage.removeItem("unanswered");
  if (account === document.querySelector(".account-name").title) giveBack(question);
}

async function send() {
  const data = new FormData(form);
  document.getElementById("suggestions")?.remove();
  const question = data.get("question").trim();
  const article = showExchange(question);
  const button = document.getElementById("ask-button");
  running = new AbortController();
  const label = button.textContent;
  button.textContent = form.dataset.stop;
  thread.setAttribute("aria-busy", "true");
  form.elements.question.value = "";
  resize();
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(data),
      headers: { Accept: "text/event-stream" },
      signal: running.signal,
    });
    if (response.redirected) {
      reloadWith(question); // the session has ended
    } else if (response.headers.get("Content-Type").startsWith("text/event-stream")) {
      await showAnswer(article, response);
    } else {
      const html = await response.text();
      if (html.startsWith("<div")) showProblem(article, html);
      else if (response.status === 403) reloadWith(question); // a sign-in in another window has replaced the form's token
      else throw new Error(`status ${response.status}`);
    }
  } catch (error) {
    article.querySelector(".stage").textContent =
      error.name === "AbortError" ? form.dataset.stopped : form.dataset.lost;
    article.querySelector(".answer").classList.remove("is-pending");
    if (error.name !== "AbortError") giveBack(question);
  } finally {
    running = null;
    button.textContent = label;
    thread.removeAttribute("aria-busy");
    prepare(article);
  }
}

function resize() {
  const field = form.elements.question;
  field.rows = Math.min(8, Math.max(2, field.value.split("\n").length, Math.ceil(field.value.length / 80)));
}

// Adds what needs the script to answers: the button that copies.
function prepare(root) {
  for (const button of root.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
}

// Shows the sources whose name contains the text, and those that are chosen.
function filterSources(text) {
  for (const chip of form.querySelectorAll(".chip")) {
    const isChosen = chip.querySelector("input").checked;
    chip.hidden = !isChosen && !chip.textContent.toLowerCase().includes(text.trim().toLowerCase());
  }
}

function prepareSourceFilter(field) {
  field.hidden = false;
  field.addEventListener("input", () => filterSources(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // it would ask the question
  });
}

async function rate(rating, submitter) {
  const data = new URLSearchParams(new FormData(rating, submitter));
  const response = await fetch(rating.action, { method: "POST", body: data, headers: { Accept: "text/event-stream" } });
  if (!response.ok || response.redirected) {
    location.reload();
    return;
  }
  const holder = document.createElement("div");
  holder.innerHTML = await response.text(); // rendered and escaped by the server
  const fresh = holder.firstElementChild;
  rating.replaceWith(fresh);
  (fresh.querySelector("select") || fresh.querySelector("button")).focus();
}

if (form) {
  takeUnanswered();
  const sourceFilter = document.getElementById("source-filter");
  if (sourceFilter) prepareSourceFilter(sourceFilter);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) running.abort();
    else if (form.elements.question.value.trim()) send();
  });
  form.elements.question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!running) form.requestSubmit();
    }
  });
  form.elements.question.addEventListener("input", resize);
  document.getElementById("suggestions")?.addEventListener("click", (event) => {
    if (!event.target.matches("a") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    form.elements.question.value = event.target.textContent;
    form.requestSubmit();
  });
}
document.getElementById("question-hint")?.classList.add("is-shown");
thread.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-rating]")) return;
  event.preventDefault();
  rate(event.target, event.submitter);
});
thread.addEventListener("click", (event) => {
  if (!event.target.matches("[data-copy]")) return;
  navigator.clipboard.writeText(event.target.closest(".curl").querySelector("code").textContent);
  event.target.textContent = event.target.dataset.copied;
});
// Escape closes what "Rename" and "Delete" open.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const popover of document.querySelectorAll(".popover[open]")) {
    popover.open = false;
    popover.querySelector("summary").focus();
  }
});
prepare(document);
