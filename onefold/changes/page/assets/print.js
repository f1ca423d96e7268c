// The picture on paper, where nothing scrolls: the newest versions, and what is left out is said.

const PRINTED = { versions: 36, columns: 400 };

function printPicture(table, columns) {
  const target = document.getElementById("printed");
  if (!table || document.getElementById("table").hidden) return fill(target);
  const versions = table.versions.slice(-PRINTED.versions);
  const chosen = columns.slice(0, PRINTED.columns);
  const legend = Object.keys(KINDS).filter((kind) => table.marks[kind]).map((kind) => mark(kind));
  const heads = versions.map((version) => el("th", { scope: "col", class: "version" }, el("span", {}, version.id || table.name)));
  return fill(target,
    el("p", { class: "quiet" }, printedText(table, versions, columns, chosen)),
    el("p", { class: "legend" }, ...legend),
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "column"), ...heads, el("th", { scope: "col" }, "type in the view"))),
      el("tbody", {}, ...chosen.map((column) => printedRow(column, versions)))));
}

function printedText(table, versions, columns, chosen) {
  const texts = [];
  if (versions.length < table.versions.length) texts.push(`the newest ${versions.length} of ${countText(table.versions.length, "version")}`);
  if (chosen.length < columns.length) texts.push(`the first ${chosen.length} of ${countText(columns.length, "column")}`);
  return texts.length ? `Printed: ${texts.join(", ")}.` : "";
}

function printedRow(column, versions) {
  const cells = versions.map((version) => {
    const { kind } = formOf(column, version.place);
    return el("td", { class: `k-${kind}` }, KINDS[kind].sign);
  });
  return el("tr", {}, el("th", { scope: "row" }, column.name), ...cells, el("td", { class: "type" }, typeOf(column)));
}
