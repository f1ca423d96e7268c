// The picture of a table: columns down, versions across in time, the type of the view at the end.
//
// Only the rows and columns in sight are in the document, whatever the size of the table. One element has the focus, and
// says by aria-activedescendant which cell is active (WAI-ARIA Authoring Practices, "Grid Pattern").

const SIZES = { row: 26, cell: [26, 40], head: 152, wide: { name: 210, type: 190 }, narrow: { name: 124, type: 150 } };
const OVERSCAN = 4;

function typeOf(column) {
  return column.type || (column.kinds.has("hidden") ? "hidden" : "not shown");
}

class Grid {
  constructor(root, onSelect) {
    this.root = root;
    this.onSelect = onSelect;
    this.canvas = el("div", { role: "rowgroup", class: "canvas" });
    fill(root, this.canvas);
    this.narrow = window.matchMedia("(max-width: 640px)");
    root.addEventListener("scroll", () => requestAnimationFrame(() => this.render()), { passive: true });
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("mouseover", (event) => this.hover(event));
    root.addEventListener("mouseleave", () => hideTip());
    root.addEventListener("blur", () => hideTip());
    this.narrow.addEventListener("change", () => this.render(true));
    new ResizeObserver(() => this.render()).observe(root);
  }

  // Show a table: all of its versions, and those of its columns that are chosen.
  show(table, columns) {
    const isNew = table !== this.table;
    this.table = table;
    this.columns = columns;
    this.active = isNew || !this.active ? { row: 0, column: 0 } : { row: Math.min(this.active.row, columns.length), column: this.active.column };
    this.root.setAttribute("aria-label", `Columns of ${table.name} in ${countText(table.versions.length, "version")}`);
    this.root.setAttribute("aria-rowcount", columns.length + 1);
    this.root.setAttribute("aria-colcount", table.versions.length + 2);
    this.render(true);
    if (isNew) {
      this.root.classList.remove("touched");
      this.root.scrollTop = 0;
      this.root.scrollLeft = this.root.scrollWidth; // the newest versions, next to the view
      this.render(true);
    }
  }

  get sizes() {
    const ends = this.narrow.matches ? SIZES.narrow : SIZES.wide;
    const [least, most] = SIZES.cell;
    const room = this.root.parentElement.clientWidth - ends.name - ends.type - 2;
    const cell = Math.max(least, Math.min(most, Math.floor(room / Math.max(1, this.table.versions.length))));
    return { ...ends, cell };
  }

  // The rows and versions in sight, as [first, end) with some more at each side.
  range() {
    const { name, cell } = this.sizes;
    const first = Math.floor(this.root.scrollTop / SIZES.row);
    const left = Math.floor(this.root.scrollLeft / cell);
    const rows = Math.ceil(this.root.clientHeight / SIZES.row);
    const cells = Math.ceil((this.root.clientWidth - name) / cell);
    const near = (start, count, all) => [
      Math.max(0, Math.floor(start / OVERSCAN) * OVERSCAN - OVERSCAN),
      Math.min(all, Math.ceil((start + count) / OVERSCAN) * OVERSCAN + OVERSCAN),
    ];
    return [near(first, rows, this.columns.length), near(left, cells, this.table.versions.length)];
  }

  render(always) {
    if (!this.table || this.root.offsetParent === null) return;
    const [rows, versions] = this.range();
    const key = `${rows}/${versions}`;
    if (!always && key === this.rendered) return;
    this.rendered = key;
    this.drawn = this.sizes;
    const { name, type, cell } = this.drawn;
    this.canvas.style.width = `${name + this.table.versions.length * cell + type}px`;
    this.canvas.style.height = `${SIZES.head + this.columns.length * SIZES.row}px`;
    const drawn = [this.headRow(versions)];
    for (let at = rows[0]; at < rows[1]; at += 1) drawn.push(this.row(at, versions));
    fill(this.canvas, ...drawn);
    this.mark();
  }

  headRow([from, to]) {
    const row = el("div", { role: "row", class: "row head", "aria-rowindex": 1 });
    row.append(this.end("columnheader", 0, 0, "name", "column"));
    for (let at = from; at < to; at += 1) row.append(this.versionCell(this.table.versions[at]));
    row.append(this.end("columnheader", 0, this.table.versions.length + 1, "type", "in the view"));
    return row;
  }

  versionCell(version) {
    const id = version.id || this.table.name;
    const label = `version ${id}, ${timeText(version.created)}${version.retired ? ", retired" : ""}`;
    const cell = this.cell("columnheader", 0, version.place + 1, `version${version.retired ? " gone" : ""}`, label);
    const date = version.created ? version.created.slice(0, 10) : "";
    cell.append(el("span", {}, el("b", {}, id), ` ${date}`));
    return cell;
  }

  row(at, [from, to]) {
    const column = this.columns[at];
    const row = el("div", { role: "row", class: "row", "aria-rowindex": at + 2 });
    row.style.top = `${SIZES.head + at * SIZES.row}px`;
    row.append(this.end("rowheader", at + 1, 0, "name", column.name));
    for (let place = from; place < to; place += 1) {
      const form = formOf(column, place);
      const label = `${KINDS[form.kind].title}: ${form.rule}`;
      const cell = this.cell("gridcell", at + 1, place + 1, `k-${form.kind}`, label);
      cell.append(KINDS[form.kind].sign);
      row.append(cell);
    }
    row.append(this.end("gridcell", at + 1, this.table.versions.length + 1, "type", typeOf(column)));
    return row;
  }

  cell(role, row, column, kind, label) {
    const cell = el("div", { role, class: `cell ${kind}`, id: `c${row}-${column}`, "aria-colindex": column + 1, "aria-label": label });
    cell.style.left = `${this.drawn.name + (column - 1) * this.drawn.cell}px`;
    cell.style.width = `${this.drawn.cell}px`;
    cell.dataset.at = `${row} ${column}`;
    return cell;
  }

  end(role, row, column, kind, text) {
    const cell = el("div", { role, class: `end ${kind}`, id: `c${row}-${column}`, "aria-colindex": column + 1 }, text);
    cell.style.width = `${this.drawn[kind]}px`;
    cell.dataset.at = `${row} ${column}`;
    return cell;
  }

  // Mark the active cell, if it is in the document.
  mark() {
    for (const old of this.canvas.querySelectorAll(".active")) old.classList.remove("active");
    const cell = document.getElementById(`c${this.active.row}-${this.active.column}`);
    if (cell) {
      cell.classList.add("active");
      this.root.setAttribute("aria-activedescendant", cell.id);
    } else this.root.removeAttribute("aria-activedescendant");
    return cell;
  }

  move(row, column) {
    const last = this.table.versions.length + 1;
    this.active = {
      row: Math.max(0, Math.min(this.columns.length, row)),
      column: Math.max(0, Math.min(last, column)),
    };
    this.root.classList.add("touched");
    this.reveal();
    this.render(true);
    const cell = this.mark();
    if (cell) showTip(cell, this.describe(this.active));
  }

  // Scroll so that the active cell is next to what stays in place: the names, the head, and the types.
  reveal() {
    const { row, column } = this.active;
    const { name, type, cell } = this.sizes;
    const isEnd = column === 0 || column > this.table.versions.length;
    const fixed = this.narrow.matches ? 0 : type;
    const left = (column - 1) * cell;
    if (!isEnd) {
      const room = this.root.clientWidth - name - fixed - cell;
      this.root.scrollLeft = Math.max(left - room, Math.min(left, this.root.scrollLeft));
    } else if (column > 0) this.root.scrollLeft = this.root.scrollWidth;
    if (row > 0) {
      const top = (row - 1) * SIZES.row;
      const room = this.root.clientHeight - SIZES.head - SIZES.row;
      this.root.scrollTop = Math.max(top - room, Math.min(top, this.root.scrollTop));
    }
  }

  key(event) {
    const { row, column } = this.active;
    const page = Math.max(1, Math.floor((this.root.clientHeight - SIZES.head) / SIZES.row) - 1);
    const end = this.table.versions.length + 1;
    const whole = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [row - page, column], PageDown: [row + page, column],
      Home: [whole ? 0 : row, 0], End: [whole ? this.columns.length : row, end],
    };
    if (moves[event.key]) this.move(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.onSelect(this.describe(this.active), true);
    else if (event.key === "Escape") hideTip();
    else return;
    event.preventDefault();
  }

  click(event) {
    const at = this.at(event.target);
    if (!at) return;
    this.move(at.row, at.column);
    hideTip();
    this.onSelect(this.describe(at), false);
  }

  hover(event) {
    const at = this.at(event.target);
    if (at) showTip(event.target.closest("[data-at]"), this.describe(at));
  }

  at(target) {
    const cell = target.closest("[data-at]");
    if (!cell) return null;
    const [row, column] = cell.dataset.at.split(" ").map(Number);
    return { row, column };
  }

  // What a cell is about: a column, a version, or both.
  describe({ row, column }) {
    const version = this.table.versions[column - 1] || null;
    const found = this.columns[row - 1] || null;
    return { table: this.table, version, column: found, form: version && found ? formOf(found, version.place) : null };
  }
}
