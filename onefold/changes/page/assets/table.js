// One table: its picture with the filters, and what is known of it below.

class TableView {
  constructor(page) {
    this.page = page;
    this.chosen = new Set();
    this.grid = new Grid(document.getElementById("grid"), showDetail);
    this.search = document.getElementById("columns");
    this.search.addEventListener("input", () => this.filter());
    window.addEventListener("beforeprint", () => printPicture(this.table, this.columns));
    window.addEventListener("afterprint", () => fill(document.getElementById("printed")));
  }

  show(table) {
    this.table = table;
    this.chosen.clear();
    this.search.value = "";
    hideTip();
    document.getElementById("detail").hidden = true;
    fill(document.getElementById("name"), table.name);
    fill(document.getElementById("facts"), factList(factsOfTable(table)));
    fill(document.getElementById("problems"), ...table.problems.map((text) => el("p", { class: "note" }, text)));
    fill(document.getElementById("legend"), ...Object.keys(KINDS).filter((kind) => table.marks[kind]).map((kind) => this.toggle(kind)));
    fill(document.getElementById("below"), ...sections(table));
    this.filter();
  }

  // A button of the legend shows only the columns that have a cell of its kind.
  toggle(kind) {
    const press = (event) => {
      const button = event.currentTarget;
      const isOn = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(isOn));
      if (isOn) this.chosen.add(kind);
      else this.chosen.delete(kind);
      this.filter();
    };
    return el("button", { type: "button", "aria-pressed": "false", title: KINDS[kind].text, on: { click: press } }, mark(kind, this.table.marks[kind]));
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.columns = this.table.columns.filter((column) =>
      words.every((word) => column.name.toLowerCase().includes(word)) &&
      (!this.chosen.size || [...this.chosen].some((kind) => column.kinds.has(kind))));
    document.getElementById("shown").textContent =
      `${this.columns.length.toLocaleString("en-US")} of ${countText(this.table.columns.length, "column")}, ${countText(this.table.versions.length, "version")}`;
    this.grid.show(this.table, this.columns);
  }
}

function factsOfTable(table) {
  const facts = [["Rows come", table.kind], ["Rows", countText(table.rows, "row")]];
  if (table.landed) facts.push(["Newest landing", timeText(table.landed)]);
  if (table.merged) facts.push(["Last merge", timeText(table.merged)]);
  if (table.lag !== null && table.lag !== undefined) facts.push(["Capture behind the source", durationText(table.lag)]);
  if (table.check) facts.push(["Last check", table.check.outcome]);
  return facts;
}

function sections(table) {
  return [
    section("Changes", changesOf(table)),
    section("Views", viewsOf(table)),
    section("Readers", readersOf(table, "")),
    section("Checks", checksOf(table)),
    section("Freshness", freshnessOf(table)),
    section("Versions", versionsOf(table)),
  ];
}

function section(title, ...content) {
  const id = `s-${title.toLowerCase()}`;
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...content);
}

function changesOf(table) {
  const empty = "This table has had one version so far.";
  return pagedItems(el("ol", { class: "changes" }), table.changes, changeItem, 20, empty);
}

const ORIGINS = {
  capture: "from the log of the source", pull: "from a pull", registry: "from the schema registry",
  settings: "from the settings", discovered: "found in the warehouse",
};

function changeItem(change) {
  const tags = [change.severity.toLowerCase(), change.decision].filter(Boolean);
  return el("li", {},
    el("p", {}, el("span", { class: "time" }, timeText(change.changed || change.at)),
      el("span", { class: "quiet" }, ` ${ORIGINS[change.origin] || change.origin}${change.tenant ? `, ${change.tenant}` : ""}`),
      ...tags.map((tag) => el("span", { class: `tag ${tag}` }, tag))),
    ...change.operations.map((text) => el("div", {}, text)),
    ...change.effects.map((text) => el("div", { class: "quiet" }, text)),
    change.decided ? el("div", { class: "quiet" }, `${change.decision} on ${timeText(change.decided)}`) : null,
    change.statement ? el("pre", { tabindex: "0", "aria-label": "Statement" }, change.statement) : null);
}

function viewsOf(table) {
  return pagedTable([["Kind"], ["View"], ["State"], ["Why"]], table.views, (view) => [
    el("th", { scope: "row" }, view.kind), el("td", {}, el("code", {}, view.name)),
    el("td", {}, view.state), el("td", {}, view.reason || "–"),
  ], 20, "It has no view.");
}

function checksOf(table) {
  if (!table.check) return el("p", { class: "quiet" }, "This table has not been checked against its source.");
  const { at, outcome, repaired } = table.check;
  const rows = repaired === null ? [] : [["Rows repaired", repaired.toLocaleString("en-US")]];
  return factList([["Last check", timeText(at)], ["Result", outcome], ...rows]);
}

function freshnessOf(table) {
  const facts = [["Newest landing", timeText(table.landed)]];
  if (table.landed) facts.push(["Before this page", durationText((Date.parse(PAGE.written) - Date.parse(table.landed)) / 1000)]);
  facts.push(["Last merge", table.merged ? timeText(table.merged) : "no base, or not merged yet"]);
  const lag = table.lag === null || table.lag === undefined ? "not known" : durationText(table.lag);
  facts.push(["Capture behind the source", lag]);
  return factList(facts);
}

function versionsOf(table) {
  const heads = [["Version"], ["Created"], ["Table", "wide"], ["Rows", "number"], ["Size", "number"]];
  return pagedTable(heads, [...table.versions].reverse(), (version) => [
    el("th", { scope: "row" }, version.id || table.name, version.retired ? el("span", { class: "quiet" }, " retired") : null),
    el("td", { class: "time" }, timeText(version.created)),
    el("td", { class: "wide" }, el("code", {}, version.table)),
    el("td", { class: "number" }, version.rows === null ? "–" : version.rows.toLocaleString("en-US")),
    el("td", { class: "number" }, sizeText(version.size)),
  ], 25, "It has no version.");
}
