// What is said of a cell: shortly next to it, and all of it below the picture when it is chosen.

function showTip(cell, about) {
  const tip = document.getElementById("tip");
  fill(tip, el("b", {}, titleOf(about)), el("span", {}, ruleOf(about)));
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const left = Math.max(8, Math.min(box.left, width - tip.offsetWidth - 8));
  const below = box.bottom + 6 + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${left}px`;
  tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

function titleOf({ table, version, column }) {
  const name = version ? version.id || table.name : "";
  if (version && column) return `${column.name} in version ${name}`;
  if (column) return column.name;
  return version ? `version ${name}` : table.name;
}

function ruleOf({ table, version, column, form }) {
  if (form) return `${KINDS[form.kind].title}. ${form.rule}`;
  if (column) return `${typeOf(column)}; ${kindsOf(column)}`;
  if (version) return `${timeText(version.created)}, ${countText(version.rows, "row")}${version.retired ? ", retired" : ""}`;
  return `${countText(table.columns.length, "column")}, ${countText(table.versions.length, "version")}`;
}

function kindsOf(column) {
  const counts = {};
  for (const cell of column.cells) counts[column.forms[cell].kind] = (counts[column.forms[cell].kind] || 0) + 1;
  return Object.entries(counts).map(([kind, count]) => `${KINDS[kind].title} in ${countText(count, "version")}`).join(", ");
}

// Show everything about a cell; `focus` moves the focus there, where the keyboard asked for it.
function showDetail(about, focus) {
  const { table, version, column, form } = about;
  const panel = document.getElementById("detail");
  fill(panel,
    el("h2", { tabindex: "-1" }, titleOf(about)),
    el("p", {}, form ? mark(form.kind) : null, form ? " " : null, form ? form.rule : ruleOf(about)),
    factList(factsOf(about)),
    ...(form ? [block("SQL of the view", sqlOf(about), sqlAbsent(form))] : []),
    ...(version ? statementsOf(table, version) : []),
    ...(column && !version ? [el("h3", {}, "Readers"), readersOf(table, column.name)] : []));
  panel.hidden = false;
  if (focus) panel.querySelector("h2").focus();
}

function factsOf({ version, column, form }) {
  const facts = [];
  if (form && form.landed) facts.push(["Type in this version", form.landed]);
  if (column) facts.push(["Type in the view", typeOf(column)]);
  if (version) {
    facts.push(["Table", version.table], ["Created", timeText(version.created)]);
    facts.push(["Rows", version.rows === null ? "not known" : `${version.rows.toLocaleString("en-US")}, ${sizeText(version.size)}`]);
  }
  return facts;
}

function factList(facts) {
  return el("dl", { class: "facts" }, ...facts.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text))));
}

function sqlOf({ version, form }) {
  return form.sql ? `SELECT ${form.sql}\nFROM \`${version.table}\` AS v` : "";
}

function sqlAbsent(form) {
  if (form.kind === "hidden" || form.kind === "waiting") return "It is not shown.";
  return "The view has no item for it.";
}

function block(title, text, absent) {
  const body = text ? el("pre", { tabindex: "0", "aria-label": title }, text) : el("p", { class: "quiet" }, absent);
  return el("div", {}, el("h3", {}, title), body);
}

// The statements of the changes that led to a version, and what each view did with them.
function statementsOf(table, version) {
  const found = table.changes.filter((change) => change.after === version.id && version.id);
  if (!found.length) return [block("Statement", "", "No statement is known for this version.")];
  return found.map((change) => el("div", {},
    block(`Statement, ${change.origin}${change.tenant ? `, ${change.tenant}` : ""}`, change.statement, "The log does not have it."),
    el("ul", {}, ...[...change.operations, ...change.effects].map((text) => el("li", {}, text)))));
}

function readersOf(table, column) {
  const found = table.readers.filter((reader) => !column || reader.column === column);
  const empty = table.readers.length ? "Nobody is known to read this column." : "Nobody has looked for readers yet.";
  return pagedTable([["Column"], ["Kind"], ["Reader"], ["Reads", "number"], ["Certain"]], found, (reader) => [
    el("th", { scope: "row" }, reader.column || "the table"), el("td", {}, reader.kind), el("td", {}, reader.name),
    el("td", { class: "number" }, reader.count.toLocaleString("en-US")), el("td", {}, reader.certain ? "yes" : "maybe"),
  ], 25, empty);
}
