// Sends a form that goes on by itself. Without this script the visitor presses its button.
"use strict";

document.querySelector("form[data-continue]").submit();
