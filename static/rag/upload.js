/* The page "Upload documents": drag and drop, folders and a progress bar. The form also works without this script. */
"use strict";

(function () {
  const form = document.getElementById("upload");
  const input = form.querySelector("input[type=file]");
  const zone = form.querySelector(".upload-zone");
  const list = form.querySelector(".upload-list");
  const results = form.querySelector(".upload-results");
  const state = form.querySelector(".upload-state");
  const bar = state.querySelector("progress");
  const progressText = state.querySelector("span");
  const button = form.querySelector("input[type=submit]");
  const limits = {
    files: Number(form.dataset.maxFiles),
    fileBytes: Number(form.dataset.maxFileBytes),
    // Leave room for the other fields of the form.
    bytes: Number(form.dataset.maxBytes) * 0.99,
  };
  const MAX_LISTED_FILES = 200;
  const selectedFiles = new Map(); // path → file

  form.querySelector(".upload-hint").hidden = false;
  input.required = false; // dragged files are not in the input

  input.addEventListener("change", function () {
    for (const file of input.files) {
      add(file.webkitRelativePath || file.name, file);
    }
    input.value = "";
    showSelection();
  });

  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, function (event) {
      event.preventDefault();
      zone.classList.add("upload-over");
    });
  }
  zone.addEventListener("dragleave", function () {
    zone.classList.remove("upload-over");
  });
  zone.addEventListener("drop", async function (event) {
    event.preventDefault();
    zone.classList.remove("upload-over");
    // The browser empties this list at the first await.
    const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry()).filter(Boolean);
    for (const entry of entries) {
      await walk(entry, "");
    }
    showSelection();
  });
  // A file dropped beside the zone must not replace the page.
  for (const name of ["dragover", "drop"]) {
    window.addEventListener(name, (event) => event.preventDefault());
  }

  async function walk(entry, folder) {
    if (entry.name.startsWith(".")) {
      return;
    }
    const path = folder + entry.name;
    if (entry.isFile) {
      add(path, await new Promise((done, failed) => entry.file(done, failed)));
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const entries = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (entries.length === 0) {
        return;
      }
      for (const child of entries) {
        await walk(child, path + "/");
      }
    }
  }

  function add(path, file) {
    selectedFiles.set(path, file);
  }

  // A text of the page in its language, with values in the places of their names.
  function messageFor(name, values) {
    const text = form.dataset["text" + name[0].toUpperCase() + name.slice(1)];
    return text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
  }

  function rejectionReason(file) {
    if (file.size === 0) {
      return messageFor("empty");
    }
    return file.size > limits.fileBytes ? messageFor("large", { size: size(limits.fileBytes) }) : "";
  }

  function size(bytes) {
    const units = ["bytes", "KB", "MB", "GB"];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) {
      bytes /= 1024;
      unit += 1;
    }
    return (unit ? bytes.toFixed(1) : bytes) + " " + units[unit];
  }

  function addLine(parent, text, isError) {
    const item = document.createElement("li");
    item.textContent = text;
    item.classList.toggle("upload-error", Boolean(isError));
    parent.append(item);
    return item;
  }

  function showSelection() {
    list.replaceChildren();
    let shown = 0;
    for (const [path, file] of selectedFiles) {
      const reason = rejectionReason(file);
      if (shown < MAX_LISTED_FILES || reason) {
        addLine(list, path + (reason ? " " + reason : ", " + size(file.size)), reason);
        shown += 1;
      }
    }
    if (selectedFiles.size > shown) {
      addLine(list, messageFor("more", { number: selectedFiles.size - shown }));
    }
  }

  function splitIntoBatches() {
    const result = [];
    let batch = [];
    let bytes = 0;
    for (const [path, file] of selectedFiles) {
      if (rejectionReason(file)) {
        continue;
      }
      if (batch.length === limits.files || (batch.length && bytes + file.size > limits.bytes)) {
        result.push(batch);
        batch = [];
        bytes = 0;
      }
      batch.push([path, file]);
      bytes += file.size;
    }
    return batch.length ? [...result, batch] : result;
  }

  // The token of the form: a sign-in in another window replaces it. Empty without a session.
  async function readToken() {
    const reply = await fetch(form.action);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    return reply.redirected ? "" : page.querySelector("#upload [name=csrfmiddlewaretoken]").value;
  }

  async function send(batch, onProgress) {
    const token = await readToken().catch(() => null);
    if (!token) {
      return { message: messageFor(token === null ? "lost" : "ended") };
    }
    const body = new FormData();
    body.append("csrfmiddlewaretoken", token);
    body.append("paths", JSON.stringify(batch.map(([path]) => path)));
    for (const [, file] of batch) {
      body.append("files", file, file.name);
    }
    return new Promise(function (resolve) {
      const request = new XMLHttpRequest();
      request.open("POST", form.action);
      request.responseType = "json";
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (event) => onProgress(event.loaded));
      request.addEventListener("load", function () {
        const body = request.response || {};
        resolve(request.status === 200 ? body : { message: body.message || messageFor("status", { status: request.status }) });
      });
      request.addEventListener("error", () => resolve({ message: messageFor("lost") }));
      request.send(body);
    });
  }

  form.addEventListener("submit", async function (event) {
    event.preventDefault();
    const all = splitIntoBatches();
    results.replaceChildren();
    if (all.length === 0) {
      addLine(results, messageFor("none"), true);
      return;
    }
    const total = all.flat().reduce((sum, [, file]) => sum + file.size, 0);
    let sentBytes = 0;
    button.disabled = true;
    state.hidden = false;
    for (const batch of all) {
      const length = batch.reduce((sum, [, file]) => sum + file.size, 0);
      const answer = await send(batch, function (loaded) {
        const sent = Math.min(sentBytes + loaded, sentBytes + length, total);
        bar.value = sent / total;
        progressText.textContent = messageFor("of", { sent: size(sent), total: size(total) });
      });
      sentBytes += length;
      report(batch, answer);
    }
    bar.value = 1;
    progressText.textContent = messageFor(selectedFiles.size ? "some" : "all");
    button.disabled = false;
    showSelection();
  });

  // Asks how far the job is until none of its documents is open.
  async function pollJob(job, item, state) {
    const pause = 1500;
    let progress = { is_open: true };
    try {
      const reply = await fetch(form.action + "?job=" + job, { headers: { Accept: "application/json" } });
      if (reply.redirected || reply.status === 403 || reply.status === 404) {
        state.textContent = messageFor("unknown");
        return;
      }
      progress = reply.ok ? await reply.json() : progress;
    } catch {
      // The connection is lost for a moment: ask again.
    }
    if (progress.total) {
      state.textContent = messageFor("progress", progress) + (progress.failed ? ", " + messageFor("failed", progress) : "") + (progress.is_open ? " …" : ".");
    }
    if (progress.is_open) {
      setTimeout(pollJob, pause, job, item, state);
      return;
    }
    const failures = document.createElement("ul");
    for (const failure of progress.failures) {
      addLine(failures, failure.path + ": " + failure.message, true);
    }
    item.append(failures);
    item.classList.toggle("upload-done", !progress.failed);
  }

  function report(batch, answer) {
    const files = batch.length === 1 ? messageFor("one") : messageFor("files", { number: batch.length });
    if (!answer.job) {
      addLine(results, messageFor("refused", { files: files, message: answer.message }), true);
      return;
    }
    const item = addLine(results, messageFor("uploaded", { files: files }) + " ");
    const state = document.createElement("span");
    state.textContent = messageFor("waiting");
    item.append(state);
    if (answer.url) {
      const link = document.createElement("a");
      link.textContent = messageFor("job");
      link.href = answer.url;
      item.append(" ", link);
    }
    pollJob(answer.job, item, state);
    for (const [path] of batch) {
      selectedFiles.delete(path);
    }
  }
})();
