// The tables of the dataset, with search, order and a filter.

const TABLES_SHOWN = 100;
const ORDERS = {
  attention: (a, b) => needsAttention(b) - needsAttention(a) || compareNames(a, b),
  name: compareNames,
  changed: (a, b) => (lastChange(a) < lastChange(b) ? 1 : -1),
};

function compareNames(a, b) {
  return a.name < b.name ? -1 : 1;
}

// A table matches by its name or by the name of a column; the columns that match are said.
function matchTable(table, words) {
  if (words.every((word) => table.name.toLowerCase().includes(word))) return { table, columns: [] };
  const columns = table.columns.filter((column) => words.every((word) => column.name.toLowerCase().includes(word)));
  return columns.length ? { table, columns: columns.map((column) => column.name) } : null;
}

function startOverview(page) {
  const search = document.getElementById("search");
  const order = document.getElementById("order");
  const only = document.getElementById("attention");
  const list = document.getElementById("tables");
  const count = document.getElementById("count");

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = only.checked ? page.tables.filter(needsAttention) : [...page.tables];
    const found = chosen.sort(ORDERS[order.value]).map((table) => matchTable(table, words)).filter(Boolean);
    count.textContent = `${found.length.toLocaleString("en-US")} of ${countText(page.tables.length, "table")}`;
    const heads = [["Table"], ["Rows come", "wide"], ["Versions", "number"], ["Columns", "number wide"], ["Marks"],
      ["Newest landing", "wide"], ["Last change", "wide"], ["Last check", "wide"]];
    fill(list, pagedTable(heads, found, overviewCells, TABLES_SHOWN, "No table has such a name, nor a column of it."));
  }
  for (const input of [search, order, only]) input.addEventListener("input", show);
  fill(document.getElementById("warnings"), ...page.warnings.map((text) => el("p", { class: "note" }, text)));
  show();
}

function overviewCells({ table, columns }) {
  const through = columns.length ? el("span", { class: "quiet" }, ` column ${columns.slice(0, 3).join(", ")}`) : null;
  const bad = table.problems.length;
  const problems = bad ? el("span", { class: "mark problem" }, el("span", { class: "sign", "aria-hidden": "true" }, "!"),
    countText(bad, "problem")) : null;
  const kinds = ["waiting", "lossy", "cast", "hidden", "unknown"].filter((kind) => table.marks[kind]);
  return [
    el("th", { scope: "row" }, el("a", { href: `#${encodeURIComponent(table.name)}` }, table.name), through),
    el("td", { class: "wide" }, table.kind),
    el("td", { class: "number" }, table.versions.length.toLocaleString("en-US")),
    el("td", { class: "number wide" }, table.columns.length.toLocaleString("en-US")),
    el("td", { class: "marks" }, problems, ...kinds.map((kind) => mark(kind, table.marks[kind]))),
    el("td", { class: "wide time" }, table.landed ? timeText(table.landed) : "–"),
    el("td", { class: "wide time" }, lastChange(table) ? timeText(lastChange(table)) : "–"),
    el("td", { class: "wide" }, table.check ? table.check.outcome : "–"),
  ];
}
