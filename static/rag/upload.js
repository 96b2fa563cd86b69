/* The page "Upload documents": dragging, folders, and a bar. Without this script its form works as any other. */
"use strict";

(function () {
  const form = document.getElementById("upload");
  const input = form.querySelector("input[type=file]");
  const zone = form.querySelector(".upload-zone");
  const list = form.querySelector(".upload-list");
  const results = form.querySelector(".upload-results");
  const state = form.querySelector(".upload-state");
  const bar = state.querySelector("progress");
  const said = state.querySelector("span");
  const button = form.querySelector("input[type=submit]");
  const most = {
    files: Number(form.dataset.mostFiles),
    fileBytes: Number(form.dataset.mostFileBytes),
    // Room for the form around the files.
    bytes: Number(form.dataset.mostBytes) * 0.99,
  };
  const SHOWN = 200;
  let chosen = new Map(); // path → file

  form.querySelector(".upload-hint").hidden = false;
  input.required = false; // what was dragged is not in it

  input.addEventListener("change", function () {
    for (const file of input.files) {
      add(file.webkitRelativePath || file.name, file);
    }
    input.value = "";
    show();
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
    // The list of what was dropped is empty once this function waits for something.
    const entries = Array.from(event.dataTransfer.items, (item) => item.webkitGetAsEntry()).filter(Boolean);
    for (const entry of entries) {
      await walk(entry, "");
    }
    show();
  });
  // A file that misses the zone must not take the page away.
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
      const inside = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (inside.length === 0) {
        return;
      }
      for (const each of inside) {
        await walk(each, path + "/");
      }
    }
  }

  function add(path, file) {
    chosen.set(path, file);
  }

  function refusal(file) {
    if (file.size === 0) {
      return "is empty";
    }
    return file.size > most.fileBytes ? "has more than " + size(most.fileBytes) : "";
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

  function line(parent, text, refused) {
    const item = document.createElement("li");
    item.textContent = text;
    item.classList.toggle("upload-refused", Boolean(refused));
    parent.append(item);
    return item;
  }

  function show() {
    list.replaceChildren();
    let shown = 0;
    for (const [path, file] of chosen) {
      const wrong = refusal(file);
      if (shown < SHOWN || wrong) {
        line(list, path + (wrong ? " " + wrong + ": it is left out" : ", " + size(file.size)), wrong);
        shown += 1;
      }
    }
    if (chosen.size > shown) {
      line(list, "… and " + (chosen.size - shown) + " more");
    }
  }

  function batches() {
    const made = [];
    let batch = [];
    let bytes = 0;
    for (const [path, file] of chosen) {
      if (refusal(file)) {
        continue;
      }
      if (batch.length === most.files || (batch.length && bytes + file.size > most.bytes)) {
        made.push(batch);
        batch = [];
        bytes = 0;
      }
      batch.push([path, file]);
      bytes += file.size;
    }
    return batch.length ? [...made, batch] : made;
  }

  function send(batch, progressed) {
    const body = new FormData();
    body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    body.append("paths", JSON.stringify(batch.map(([path]) => path)));
    for (const [, file] of batch) {
      body.append("files", file, file.name);
    }
    return new Promise(function (done) {
      const request = new XMLHttpRequest();
      request.open("POST", form.action);
      request.responseType = "json";
      request.setRequestHeader("Accept", "application/json");
      request.upload.addEventListener("progress", (event) => progressed(event.loaded));
      request.addEventListener("load", function () {
        const answer = request.response || {};
        done(request.status === 200 ? answer : { message: answer.message || "The server answered " + request.status + "." });
      });
      request.addEventListener("error", () => done({ message: "The connection was lost. Try again." }));
      request.send(body);
    });
  }

  form.addEventListener("submit", async function (event) {
    event.preventDefault();
    const all = batches();
    results.replaceChildren();
    if (all.length === 0) {
      line(results, "Choose at least one file.", true);
      return;
    }
    const total = all.flat().reduce((sum, [, file]) => sum + file.size, 0);
    let before = 0;
    button.disabled = true;
    state.hidden = false;
    for (const batch of all) {
      const length = batch.reduce((sum, [, file]) => sum + file.size, 0);
      const answer = await send(batch, function (loaded) {
        const sent = Math.min(before + loaded, before + length, total);
        bar.value = sent / total;
        said.textContent = size(sent) + " of " + size(total);
      });
      before += length;
      report(batch, answer);
    }
    bar.value = 1;
    said.textContent = results.querySelector(".upload-refused") ? "Not everything was sent." : "Everything was sent.";
    button.disabled = false;
    show();
  });

  function report(batch, answer) {
    const files = batch.length === 1 ? "1 file" : batch.length + " files";
    if (!answer.job) {
      line(results, files + " not sent: " + answer.message, true);
      return;
    }
    const item = line(results, files + " sent. Job ");
    const name = document.createElement(answer.address ? "a" : "span");
    name.textContent = answer.job;
    if (answer.address) {
      name.href = answer.address;
    }
    item.append(name);
    for (const [path] of batch) {
      chosen.delete(path);
    }
  }
})();
