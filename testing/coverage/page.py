"""Style and script of the HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["DARK", "LIGHT", "SCRIPT", "STYLE"]

# Every pair is readable: text on its ground has a contrast of at least 4.5 to 1 (WCAG AA); a test computes it.
LIGHT: Final = {
    "ground": "#ffffff", "text": "#1f2328", "faint": "#59636e", "line": "#d1d9e0", "head": "#f6f8fa",
    "link": "#0550ae",
    "kernel": "#dafbe1", "kernel-text": "#0a4620", "generic": "#d8f3f5", "generic-text": "#0b4a52",
    "composite": "#ddf4ff", "composite-text": "#0a3f80", "fallback": "#fff1c2", "fallback-text": "#5c4000",
    "other": "#eaeef2", "other-text": "#424a53", "missing": "#ffdcd8", "missing-text": "#8a1020",
}  # fmt: skip
"""The colours on a light ground."""
DARK: Final = {
    "ground": "#0d1117", "text": "#e6edf3", "faint": "#9da7b1", "line": "#3d444d", "head": "#151b23",
    "link": "#79c0ff",
    "kernel": "#12361f", "kernel-text": "#8ff0a8", "generic": "#0b3a41", "generic-text": "#8fe6f0",
    "composite": "#0c2d57", "composite-text": "#a8d4ff", "fallback": "#3f2f00", "fallback-text": "#f7d774",
    "other": "#2a313a", "other-text": "#c3ccd5", "missing": "#5c1219", "missing-text": "#ffc4bd",
}  # fmt: skip
"""The colours on a dark ground."""


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


_KINDS: Final = ("kernel", "generic", "composite", "fallback", "other", "missing")

STYLE: Final = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
    + "".join(f".{kind}{{background:var(--{kind});color:var(--{kind}-text)}}\n" for kind in _KINDS)
    + """
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.5 system-ui,sans-serif}
header,main{max-width:90rem;margin:0 auto;padding:0 1.25rem}
h1{font-size:1.6rem;margin:1.5rem 0 0}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
header p{color:var(--faint);margin:.25rem 0 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid var(--line);font-weight:400}
thead th{font-weight:600;background:var(--head)}
#matrix{font-size:.9rem}
#matrix th[scope=row]{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
#summary th,#summary td{white-space:nowrap}
.number{text-align:right;font-variant-numeric:tabular-nums}
.how{display:inline-block;border-radius:.3rem;padding:0 .45rem}
dl{display:flex;flex-wrap:wrap;gap:.35rem 1.5rem;font-size:.9rem}
dl div{display:flex;gap:.5rem}
dd{margin:0;color:var(--faint)}
details p,details ul{margin:.3rem 0;max-width:42rem;color:var(--faint);font-size:.85rem}
details ul{padding-left:1.1rem;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
details code{display:block;margin:.3rem 0;font-size:.85rem;max-width:42rem}
summary{cursor:pointer}
form{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:.5rem 0 1rem}
form[hidden]{display:none}
label{display:grid;gap:.15rem;font-size:.85rem;color:var(--faint)}
label.check{display:flex;align-items:center;padding-bottom:.4rem}
input,select,button{font:inherit;color:var(--text);background:var(--ground);border:1px solid var(--line);
border-radius:.35rem;padding:.25rem .5rem}
button.sort{border:0;background:none;padding:0;font-weight:600;color:var(--link);cursor:pointer}
[aria-sort=ascending] .sort::after{content:" ▲"}
[aria-sort=descending] .sort::after{content:" ▼"}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
output{padding-bottom:.3rem}
tr[hidden]{display:none}
"""
)
"""The style sheet."""

SCRIPT: Final = """
"use strict";
(() => {
  const byId = id => document.getElementById(id);
  const form = byId("filters"), table = byId("matrix"), body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const classes = ORDER, order = Object.keys(classes);
  const rows = [...body.rows].map((row, position) => ({
    row, position,
    name: row.cells[0].querySelector("summary").textContent,
    family: row.dataset.family, namespace: row.dataset.namespace, core: row.dataset.core === "1",
    dtypes: row.dataset.dtypes.split(" "),
    cells: [...row.cells].slice(2).map(cell => ({
      shown: cell.querySelector(".how"), words: cell.querySelector(".how").textContent, how: cell.dataset.how,
      elsewhere: Object.fromEntries(
        (cell.dataset.elsewhere || "").split(",").filter(Boolean).map(one => one.split(":"))),
    })),
  }));
  let dtype = "";
  const howOf = cell => cell.elsewhere[dtype] || cell.how;

  // The cells say how a dtype is served, where one is chosen, or the operator.
  function choose(name) {
    if (name === dtype) return;
    dtype = name;
    for (const cell of rows.flatMap(one => one.cells)) {
      if (Object.keys(cell.elsewhere).length === 0) continue;
      cell.shown.className = `how ${classes[howOf(cell)]}`;
      cell.shown.textContent = dtype ? howOf(cell) : cell.words;
    }
  }
  const fields = ["search", "family", "backend", "how", "dtype", "namespace"];
  const backends = heads.slice(2).map(head => head.textContent);
  let sorted = "";  // the name of the column, after a minus if it goes down

  // A text with a star is a pattern for the whole name; any other is looked for inside of it.
  function tester(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted.includes("*")) return name => name.toLowerCase().includes(wanted);
    const parts = wanted.split("*").map(part => part.replace(/[.+?^${}()|[\\]\\\\]/g, "\\\\$&"));
    const pattern = new RegExp(`^${parts.join(".*")}$`);
    return name => pattern.test(name.toLowerCase());
  }

  function filter() {
    const value = Object.fromEntries(fields.map(id => [id, byId(id).value]));
    choose(value.dtype);
    const core = byId("core").checked, named = tester(value.search);
    const column = backends.indexOf(value.backend);
    let shown = 0;
    for (const one of rows) {
      const hows = (column < 0 ? one.cells : [one.cells[column]]).map(howOf);
      const passes = named(one.name)
        && (!value.family || one.family === value.family)
        && (!value.namespace || one.namespace === value.namespace)
        && (!value.dtype || one.dtypes.includes(value.dtype))
        && (!value.how || hows.includes(value.how))
        && (!core || one.core);
      one.row.hidden = !passes;
      shown += passes;
    }
    byId("count").textContent = `${shown} of ${rows.length} operators`;
    const set = Object.entries(value).filter(([, text]) => text);
    if (core) set.push(["core", "1"]);
    if (sorted) set.push(["sort", sorted]);
    const address = "#" + new URLSearchParams(set);
    try { history.replaceState(null, "", address); } catch { /* some viewers of files allow no addresses */ }
  }

  function key(one, column) {
    return column === 0 ? one.name : column === 1 ? one.family : order.indexOf(howOf(one.cells[column - 2]));
  }

  function sort(column, down) {
    choose(byId("dtype").value);
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    sorted = (down ? "-" : "") + heads[column].textContent;
    const sign = down ? -1 : 1;
    rows.sort((a, b) => {
      const one = key(a, column), two = key(b, column);
      return one < two ? -sign : one > two ? sign : a.position - b.position;
    });
    body.append(...rows.map(one => one.row));
  }

  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (fields.includes(name)) byId(name).value = text;
    if (name === "core") byId("core").checked = true;
    const column = heads.findIndex(head => head.textContent === text.replace(/^-/, ""));
    if (name === "sort" && column >= 0) sort(column, text.startsWith("-"));
  }
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  heads.forEach((head, column) => head.querySelector(".sort").addEventListener("click", () => {
    sort(column, head.getAttribute("aria-sort") === "ascending");
    filter();
  }));
  filter();
})();
"""
"""The program of the page; `ORDER` is replaced by the classes of the ways of implementation, the best first."""
