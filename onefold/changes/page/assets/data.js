// The data of the page: the compact form of the JSON, read into objects with names.

const KINDS = {
  same: { sign: "·", title: "same", text: "shown as it landed" },
  cast: { sign: "C", title: "cast", text: "converted, and every value is kept" },
  lossy: { sign: "L", title: "lossy", text: "converted, and values may be lost" },
  absent: { sign: "–", title: "absent", text: "the version has no such column: NULL" },
  renamed: { sign: "R", title: "renamed", text: "spelled otherwise in the view" },
  default: { sign: "D", title: "default", text: "no table has it: the view writes a constant" },
  hidden: { sign: "H", title: "hidden", text: "a policy or a contract hides it" },
  waiting: { sign: "W", title: "waiting", text: "waits for somebody's decision" },
  retired: { sign: "X", title: "retired", text: "the version is retired: no view reads it" },
  unknown: { sign: "?", title: "unknown", text: "the view cannot be built" },
};

function readPage(text) {
  const raw = JSON.parse(text);
  return { ...raw, tables: raw.tables.map(readTable) };
}

function readTable(raw) {
  const columns = (raw.columns || []).map(readColumn);
  return {
    ...raw,
    columns,
    problems: raw.problems || [],
    views: (raw.views || []).map(([kind, name, state, reason]) => ({ kind, name, state, reason })),
    versions: (raw.versions || []).map(readVersion),
    changes: (raw.changes || []).map(readChange),
    readers: (raw.readers || []).map(([column, kind, name, count, certain]) => ({ column, kind, name, count, certain })),
    check: raw.check ? { at: raw.check[0], outcome: raw.check[1], repaired: raw.check[2] } : null,
    marks: countKinds(columns),
  };
}

function readVersion([id, table, created, rows, size, retired], place) {
  return { id, table, created, rows, size, retired, place };
}

// Runs of equal cells become one number for each version: at most a few hundred kilobytes for the widest table.
function readColumn([name, type, forms, runs]) {
  const cells = [];
  for (let at = 0; at < runs.length; at += 2) for (let n = 0; n < runs[at + 1]; n += 1) cells.push(runs[at]);
  const found = forms.map(([kind, landed, rule, sql]) => ({ kind, landed, rule, sql }));
  return { name, type, forms: found, cells: Uint16Array.from(cells), kinds: new Set(found.map((form) => form.kind)) };
}

function readChange(raw) {
  const [id, at, changed, origin, tenant, before, after, decision, severity, operations, effects, statement, decided] = raw;
  return { id, at, changed, origin, tenant, before, after, decision, severity, operations, effects, statement, decided };
}

function countKinds(columns) {
  const counts = {};
  for (const column of columns) for (const kind of column.kinds) counts[kind] = (counts[kind] || 0) + 1;
  return counts;
}

function formOf(column, place) {
  return column.forms[column.cells[place]];
}

// Whether somebody has to look at a table.
function needsAttention(table) {
  return table.problems.length > 0 || Boolean(table.marks.waiting || table.marks.lossy || table.marks.unknown);
}

function lastChange(table) {
  const times = [...table.versions.map((one) => one.created), ...table.changes.map((one) => one.at)];
  return times.reduce((newest, time) => (time && time > newest ? time : newest), "");
}
