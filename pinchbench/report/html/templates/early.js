"use strict";
// Before anything is shown: the theme that was chosen, and that trials are folded away. Laid out later, thousands of rows
// would be laid out twice, and a dark page would flash.
document.documentElement.classList.add("js");
try {
  const choice = localStorage.getItem("pinchbench-theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
} catch { /* a page from a file may have no storage */ }
