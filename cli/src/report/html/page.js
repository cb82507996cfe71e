"use strict";
(() => {
  const CHUNK = 200;
  const byId = (id) => document.getElementById(id);
  const { report, totals, outcomes, dispatches, shown, version } = JSON.parse(byId("data-report").textContent);
  // One line a dispatch: index of the kernel, index of the outcome, verdict, then JSON that is parsed when it is shown.
  const lines = byId("data-dispatches").textContent.split("\n").filter((line) => line !== "");
  const heads = lines.map((line) => {
    const one = line.indexOf(" ");
    const two = line.indexOf(" ", one + 1);
    return { kernel: Number(line.slice(0, one)), outcome: Number(line.slice(one + 1, two)), verdict: line[two + 1] };
  });
  const rowOf = (index) => JSON.parse(lines[index].slice(lines[index].indexOf("{")));

  // Names are others': what does not print, or turns the text behind it around, is shown as its escape.
  const visible = (text) =>
    String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
  const element = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = visible(text);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const scaled = (value, units) => {
    let [unit, one] = units[0];
    for (const [name, size] of units) if (value >= size) [unit, one] = [name, size];
    if (one === 1) return `${value} ${unit}`;
    // Three digits that matter, as in text.
    const digits = value < 10 * one ? 2 : value < 100 * one ? 1 : 0;
    const scale = 10 ** digits;
    return `${(Math.floor((value * scale + one / 2) / one) / scale).toFixed(digits)} ${unit}`;
  };
  const time = (ns) => (ns === null || ns === undefined ? "-" : scaled(ns, [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]]));
  const size = (bytes) =>
    bytes === null || bytes === undefined
      ? "-"
      : scaled(bytes, [["B", 1], ["KiB", 1024], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]]);
  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;
  const range = (both, show) => (both === null ? "-" : both.min === both.max ? show(both.min) : `${show(both.min)} to ${show(both.max)}`);
  const verdictText = { y: "yes", n: "no", "-": "-" };

  const became = (outcomes) => Object.entries(outcomes).map(([name, number], _, all) => (all.length === 1 ? name : `${number} ${name}`)).join(", ");

  // ---- the table of kernels
  const kernels = report.kernels.map((kernel, index) => ({ ...kernel, index, lower: `${kernel.kernel}\n${kernel.symbol}`.toLowerCase() }));
  const verdict = (kernel) => {
    if (kernel.deterministic === null) return "-";
    if (kernel.deterministic) return "yes";
    return kernel.deterministic_dispatches ? `no (${kernel.divergent_dispatches} of ${kernel.deterministic_dispatches + kernel.divergent_dispatches})` : "no";
  };
  const columns = [
    { title: "kernel", key: (kernel) => kernel.lower, text: (kernel) => kernel.kernel, name: true },
    { title: "dispatches", key: (kernel) => kernel.dispatches, text: (kernel) => kernel.dispatches, number: true },
    { title: "outcome", key: (kernel) => Object.keys(kernel.outcomes).join(), text: (kernel) => became(kernel.outcomes) },
    { title: "passes", key: (kernel) => kernel.passes?.max, text: (kernel) => range(kernel.passes, String), number: true },
    ...["min", "median", "p95", "max"].map((part) => ({
      title: part, key: (kernel) => kernel.time_ns?.[part], text: (kernel) => time(kernel.time_ns?.[part]), number: true })),
    { title: "changed", key: (kernel) => kernel.changed_bytes?.max, text: (kernel) => range(kernel.changed_bytes, size), number: true },
    { title: "deterministic", key: verdict, text: verdict, kind: (kernel) => (kernel.deterministic === false ? "no" : kernel.deterministic ? "yes" : "") },
  ];
  let sort = { column: null, descending: false };
  let selected = null;
  const compare = (one, other, descending) => {
    if (one === other) return 0;
    // What is not known comes last, whatever the order.
    if (one === undefined || one === null) return 1;
    if (other === undefined || other === null) return -1;
    return (one < other) === descending ? 1 : -1;
  };
  // A table's headings are buttons that sort it; `choose` makes its rows anew.
  const headings = (table, titles, chosen, choose) => {
    const row = table.tHead.rows[0];
    titles.forEach((column, index) => {
      const cell = element("th", null, { scope: "col", "aria-sort": "none" });
      if (column.number) cell.className = "number";
      const button = element("button", column.title, { type: "button" });
      button.addEventListener("click", () => {
        choose({ column: index, descending: chosen().column === index ? !chosen().descending : false });
        [...row.cells].forEach((other, place) => {
          const order = chosen().descending ? "descending" : "ascending";
          other.setAttribute("aria-sort", place === index ? order : "none");
        });
      });
      cell.append(button);
      row.append(cell);
    });
  };
  headings(byId("kernels"), columns, () => sort, (chosen) => { sort = chosen; showKernels(); });
  const matching = () => {
    const wanted = byId("filter").value.toLowerCase();
    const outcome = byId("outcome").value;
    return kernels.filter((kernel) => kernel.lower.includes(wanted) && (outcome === "" || outcome in kernel.outcomes));
  };
  const showKernels = () => {
    const rows = matching();
    if (sort.column !== null) {
      const { key } = columns[sort.column];
      rows.sort((one, other) => compare(key(one), key(other), sort.descending) || one.index - other.index);
    }
    byId("kernels").tBodies[0].replaceChildren(...rows.map((kernel) => {
      const row = element("tr", null, { "aria-current": String(kernel.index === selected) });
      for (const column of columns) {
        const cell = element("td");
        if (column.number) cell.className = "number";
        if (column.kind) cell.className = column.kind(kernel);
        if (column.name) {
          cell.className = "name";
          const button = element("button", column.text(kernel), { type: "button", title: kernel.symbol, "data-kernel": String(kernel.index) });
          button.addEventListener("click", () => {
            selected = selected === kernel.index ? null : kernel.index;
            showKernels();
            // The rows are new ones: who came by keyboard stays where they were.
            byId("kernels").querySelector(`button[data-kernel="${kernel.index}"]`)?.focus();
          });
          cell.append(button);
        } else {
          cell.textContent = visible(column.text(kernel));
        }
        row.append(cell);
      }
      return row;
    }));
    byId("matches").textContent = `${rows.length} of ${count(kernels.length, "kernel")}`;
    showDispatches(new Set(rows.map((kernel) => kernel.index)));
  };

  // ---- the table of named ranges
  const rangeColumns = [
    { title: "range", key: (range) => range.range, text: (range) => range.range, name: true },
    { title: "dispatches", key: (range) => range.dispatches, text: (range) => range.dispatches, number: true },
    { title: "outcome", key: (range) => became(range.outcomes), text: (range) => became(range.outcomes) },
    { title: "kernels", key: (range) => range.kernels, text: (range) => range.kernels, number: true },
    { title: "time", key: (range) => range.time_ns, text: (range) => time(range.time_ns), number: true },
  ];
  let rangeSort = { column: null, descending: false };
  const showRanges = () => {
    const rows = report.ranges.map((range, index) => ({ range, index }));
    if (rangeSort.column !== null) {
      const { key } = rangeColumns[rangeSort.column];
      rows.sort((one, other) => compare(key(one.range), key(other.range), rangeSort.descending) || one.index - other.index);
    }
    byId("ranges").tBodies[0].replaceChildren(...rows.map(({ range }) => {
      const row = element("tr");
      for (const column of rangeColumns) {
        const kind = column.number ? "number" : column.name ? "name" : null;
        row.append(element("td", column.text(range), kind ? { class: kind } : {}));
      }
      return row;
    }));
  };
  headings(byId("ranges"), rangeColumns, () => rangeSort, (chosen) => { rangeSort = chosen; showRanges(); });
  showRanges();
  byId("ranges").closest("section").hidden = report.ranges.length === 0;

  // ---- the table of dispatches: rows are made in chunks
  let listed = [];
  let made = 0;
  let order = { column: null, descending: false };
  const changedBytes = (row) => (row.writes === null ? null : row.writes.reduce((sum, write) => sum + write.bytes, 0));
  const label = (session) => {
    const process = report.processes[session];
    const earlier = report.processes.slice(0, session).filter((other) => other.pid === process.pid).length;
    return earlier === 0 ? String(process.pid) : `${process.pid} (session ${earlier + 1})`;
  };
  // A stream of HIP is a queue of its agent; streams may share one.
  const dispatchColumns = [
    { title: "process", key: (head, row) => row.session, text: (head, row) => label(row.session) },
    { title: "#", key: (head, row) => row.id, text: (head, row) => row.id, number: true },
    { title: "kernel", key: (head) => report.kernels[head.kernel].lower, name: true },
    { title: "launch", key: (head, row) => row.launch, text: (head, row) => row.launch, number: true },
    { title: "agent", key: (head, row) => row.agent, text: (head, row) => row.agent, number: true },
    { title: "queue", key: (head, row) => row.queue, text: (head, row) => row.queue, number: true },
    { title: "outcome", key: (head) => head.outcome, kind: (head) => outcomes[head.outcome],
      text: (head, row) => outcomes[head.outcome] + (row.reason ? ` (${row.reason})` : "") },
    { title: "passes", key: (head, row) => row.pass_count, text: (head, row) => row.pass_count, number: true },
    { title: "median", key: (head, row) => row.time?.median, text: (head, row) => time(row.time?.median), number: true },
    { title: "changed", key: (head, row) => changedBytes(row), text: (head, row) => size(changedBytes(row)), number: true },
    { title: "deterministic", key: (head) => verdictText[head.verdict], kind: (head) => verdictText[head.verdict],
      text: (head) => verdictText[head.verdict] },
  ];
  const makeRows = () => {
    const body = byId("dispatches").tBodies[0];
    for (const index of listed.slice(made, made + CHUNK)) {
      const head = heads[index];
      const row = rowOf(index);
      const line = element("tr");
      for (const column of dispatchColumns) {
        if (!column.name) {
          const kind = column.number ? "number" : column.kind?.(head);
          line.append(element("td", column.text(head, row), kind ? { class: kind } : {}));
          continue;
        }
        const open = element("button", report.kernels[head.kernel].kernel, { type: "button" });
        open.addEventListener("click", () => showDetail(index, line));
        const name = element("td", null, { class: "name" });
        name.append(open);
        line.append(name);
      }
      body.append(line);
    }
    made = Math.min(made + CHUNK, listed.length);
    byId("more").hidden = made === listed.length;
    byId("more").textContent = `Show more (${made} of ${listed.length})`;
  };
  const showDispatches = (wanted) => {
    const outcome = outcomes.indexOf(byId("outcome").value);
    listed = [];
    heads.forEach((head, index) => {
      const kernel = selected === null ? wanted.has(head.kernel) : head.kernel === selected;
      if (kernel && (outcome < 0 || head.outcome === outcome)) listed.push(index);
    });
    if (order.column !== null) {
      const { key } = dispatchColumns[order.column];
      const keys = new Map(listed.map((index) => [index, key(heads[index], rowOf(index))]));
      listed.sort((one, other) => compare(keys.get(one), keys.get(other), order.descending) || one - other);
    }
    made = 0;
    byId("dispatches").tBodies[0].replaceChildren();
    const of = selected === null ? "" : ` of ${report.kernels[selected].kernel}`;
    const cut = shown < dispatches ? ` This page holds the first ${shown} of ${dispatches}; the table of kernels counts all.` : "";
    byId("dispatches-note").textContent = `${count(listed.length, "dispatch")}${of}.${cut}`;
    makeRows();
  };
  byId("more").addEventListener("click", makeRows);
  headings(byId("dispatches"), dispatchColumns, () => order, (chosen) => { order = chosen; showKernels(); });

  // ---- one dispatch
  const list = (entries) => {
    const made = element("dl");
    for (const [name, text] of entries) {
      if (text !== null && text !== undefined && text !== "") made.append(element("dt", name), element("dd", text));
    }
    return made;
  };
  const table = (titles, rows) => {
    const made = element("table");
    const head = made.createTHead().insertRow();
    titles.forEach((title) => head.append(element("th", title, { scope: "col" })));
    const body = made.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      cells.forEach((text) => row.append(element("td", text)));
    }
    const frame = element("div", null, { class: "scroll" });
    frame.append(made);
    return frame;
  };
  const place = (write) => {
    const argument = write.arg === null ? "" : `argument ${write.arg}, `;
    const what = write.kind === "allocation" ? "allocation" : write.name === null ? "module data" : `variable ${write.name}`;
    return `${argument}${what} of ${size(write.size)} at ${write.base}`;
  };
  const SVG = "http://www.w3.org/2000/svg";
  const map = (write, differences) => {
    const drawing = document.createElementNS(SVG, "svg");
    const ranges = write.ranges.map(([offset, length]) => `${offset} to ${offset + length}`);
    const listed = ranges.slice(0, 8).join(", ") + (ranges.length > 8 ? ` and ${ranges.length - 8} more` : "");
    drawing.setAttribute("class", "map");
    drawing.setAttribute("viewBox", "0 0 1000 10");
    drawing.setAttribute("preserveAspectRatio", "none");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `Changed ranges of ${place(write)}: ${listed || "none"}`);
    const draw = (offset, length, kind) => {
      const part = document.createElementNS(SVG, "rect");
      part.setAttribute("class", kind);
      part.setAttribute("x", (offset / write.size) * 1000);
      part.setAttribute("width", Math.max((length / write.size) * 1000, 1));
      part.setAttribute("height", 10);
      drawing.append(part);
    };
    write.ranges.forEach(([offset, length]) => draw(offset, length, "range"));
    differences.forEach(([, , offset, length]) => draw(offset, length, "difference"));
    return drawing;
  };
  const bars = (row) => {
    const longest = Math.max(...row.passes.map(([ns]) => ns ?? 0), 1);
    const made = element("div", null, { class: "bars", role: "list", "aria-label": "Time of each pass" });
    row.passes.forEach(([ns, same], index) => {
      const bar = element("div", null, { class: same === false ? "bar other" : "bar" });
      bar.style.width = `${((ns ?? 0) / longest) * 100}%`;
      const said = `${time(ns)}${same === false ? ", other result than pass 0" : ""}`;
      const entry = element("div", null, { role: "listitem", style: "display: contents" });
      entry.append(element("span", `pass ${index}`), bar, element("span", said));
      made.append(entry);
    });
    return made;
  };
  const showDetail = (index, line) => {
    const row = rowOf(index);
    const head = heads[index];
    document.querySelectorAll("#dispatches tr[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
    line.setAttribute("aria-current", "true");
    const parts = [list([
      ["kernel", report.kernels[head.kernel].kernel], ["symbol", report.kernels[head.kernel].symbol],
      ["process", `${label(row.session)}, #${row.id}, launch ${row.launch}`],
      ["outcome", outcomes[head.outcome] + (row.reason ? ` (${row.reason})` : "")], ["detail", row.detail],
      ["allowed", row.allowed.join(", ")], ["range", row.range], ["grid", row.grid.join(" × ")], ["workgroup", row.workgroup.join(" × ")],
      ["agent, queue", `${row.agent}, ${row.queue}`],
      ["snapshot", row.snapshot && `${size(row.snapshot.bytes)} in ${count(row.snapshot.regions, "region")}, ${row.snapshot.tier}, ${time(row.snapshot.ns)}`],
      ["restore", row.restore && `${size(row.restore.bytes)}, ${time(row.restore.ns)}`],
      ["deterministic", verdictText[head.verdict]],
    ])];
    if (row.passes.length > 0) {
      parts.push(element("h3", "Passes"), bars(row));
      if (row.passes.length < row.pass_count) parts.push(element("p", `${row.pass_count - row.passes.length} more passes are in the report.`));
    }
    if (row.arguments !== null && row.arguments.length > 0) {
      parts.push(element("h3", "Arguments"), table(["argument", "type", "value", "leads to"], row.arguments.map((argument) => [
        argument.name === null ? argument.index : `${argument.index} ${argument.name}`,
        argument.type ?? `${argument.kind}, ${size(argument.size)}`, argument.value ?? "-",
        argument.targets.map(([memory, name, base, bytes, offset]) =>
          `${name === null ? memory : `variable ${name}`} of ${size(bytes)} at ${base} + ${offset}`).join("; ") || "-",
      ])));
    }
    if (row.writes !== null) {
      parts.push(element("h3", "Changed memory"));
      if (row.writes.length === 0) parts.push(element("p", "Nothing changed."));
      row.writes.forEach((write, number) => {
        const differences = (row.divergence ?? []).filter(([of]) => of === number);
        const joined = write.range_count > write.ranges.length ? ", close ones drawn as one" : "";
        parts.push(element("p", `${place(write)}: ${count(write.bytes, "byte")} in ${count(write.range_count, "range")}${joined}`), map(write, differences));
      });
    }
    if (row.divergence !== null && row.divergence.length > 0) {
      parts.push(element("h3", "Where passes differ from pass 0"), table(["pass", "region", "offset", "bytes"],
        row.divergence.map(([write, pass, offset, bytes]) => [pass, row.writes?.[write] ? place(row.writes[write]) : "-", offset, bytes])));
    }
    if (row.unlisted !== "") parts.push(element("p", `Where passes differ: ${row.unlisted}.`));
    const section = byId("detail");
    section.lastElementChild.replaceChildren(...parts);
    section.hidden = false;
    section.focus();
    section.scrollIntoView({ block: "nearest" });
  };

  // ---- the rest of the page
  /** What the kernel of a begin record was given; reports of earlier versions do not say. */
  const launched = ({ grid, workgroup, arguments: values }) => [
    ...(grid === null ? [] : [`grid ${grid.join(" × ")}`]), ...(workgroup === null ? [] : [`workgroup ${workgroup.join(" × ")}`]),
    ...(values ?? []).map((argument) =>
      `argument ${argument.index}${argument.name === null ? "" : ` ${argument.name}`}: ${argument.type ?? argument.kind} = ${argument.value ?? argument.bytes ?? "-"}`)];
  const environment = report.processes.flatMap((process, index) => {
    const title = element("h3", `Process ${label(index)}`);
    const { session } = process;
    const end = { orderly: "with a summary", replaced: "became another program, or began anew", abnormal: "without a summary: counted from its records" };
    const entries = [["dispatches", totals[index]], ["end", end[process.end]]];
    if (session !== null) {
      const given = Object.entries(session.config).filter(([, value]) => value !== null && value !== false && !(Array.isArray(value) && value.length === 0));
      entries.unshift(["program", session.command?.join(" ")], ["rank", session.rank], ["hsa-replay", session.version],
        ["HSA runtime", `${session.runtime.version ?? "of unknown version"} (${session.runtime.path ?? "unknown path"})`],
        ["agents", session.agents.map((agent) => `${agent.index}: ${agent.name}${agent.uuid ? ` ${agent.uuid}` : ""}`).join("; ")],
        ["settings", given.map(([name, value]) => `${name} ${value}`).join("; ")]);
    }
    entries.push([process.end === "orderly" ? "lost records" : "ended inside", process.unfinished.map((begin) => [`${begin.kernel}, launch ${begin.launch}`, ...launched(begin)].join(", ")).join("; ")]);
    entries.push(["damaged records", process.damaged.map((begin) => `#${begin.id} ${begin.kernel}`).join("; ")]);
    if (process.missing_records > 0) entries.push(["missing records", process.missing_records]);
    if (process.repeated_records > 0) {
      entries.push(["repeated records", `${count(process.repeated_records, "dispatch record")} more than once in the reports: each counts once`]);
    }
    if (process.copy_of !== null) {
      entries.push(["copy", `begins with the dispatch of process ${label(process.copy_of)}: the reports hold it twice`]);
    }
    return [title, list(entries)];
  });
  byId("environment").append(...environment);
  if (report.problem_count > 0 || report.unreadable_files.length > 0) {
    byId("problems").hidden = false;
    byId("problems").querySelector("ul").append(...report.unreadable_files.map(({ file, detail }) => element("li", `${file}: ${detail}`)));
    byId("problems").querySelector("ul").append(...report.problems.map((problem) =>
      element("li", `${problem.file}: line ${problem.line} (byte ${problem.offset}): ${problem.detail}`)));
    const more = report.problem_count - report.problems.length;
    if (more > 0) byId("problems").querySelector("ul").append(element("li", `and ${more} more lines`));
  }
  byId("totals").textContent = `${visible(report.files.join(", "))} · ${count(dispatches, "dispatch")} of ${count(kernels.length, "kernel")} · hsa-replay ${version}`;
  outcomes.forEach((name) => byId("outcome").append(element("option", name, { value: name })));
  const changed = () => { selected = null; showKernels(); };
  byId("filter").addEventListener("input", changed);
  byId("outcome").addEventListener("change", changed);
  showKernels();
})();
