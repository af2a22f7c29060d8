// @ts-check
/**
 * The dashboard of `%budget`. It draws the dictionary described in schemas/budget.schema.json, and asks the kernel for what a button says.
 *
 * @typedef {{kind: string, tokens: number}} Segment
 * @typedef {{turn: number, used: number, flushed: boolean, compacted: boolean}} Point
 * @typedef {{when: string | null, turn: number, saved: number, notes: string[], file: string | null, outcome: string, reason: string}} Flush
 * @typedef {{kind: string, reason: string, progress: number | null}} Job
 * @typedef {{
 *   window: number, window_source: string, used: number, approximate: boolean, segments: Segment[], flush_line: number, compaction_line: number,
 *   cached_share: number | null, cost_usd: number | null, max_cost_usd: number | null, phase: string, turn: number, compactions: number,
 *   background: Job[], flushes: Flush[], pruned: {messages: number, tokens: number}, shortened: {results: number, tokens: number}, recalled: number, audit_score: number | null, history: Point[]
 * }} Budget
 * @typedef {{folder: string, files: {name: string, size: number}[], open: string, text: string}} Memory
 * @typedef {{
 *   get(name: string): any, send(content: object): void, on(event: string, call: () => void): void, off(event: string, call: () => void): void
 * }} Model
 */

/** @type {Record<string, string>} */
const PHASES = {
  idle: "Idle",
  waiting: "Waiting for the model",
  thinking: "Thinking",
  streaming: "Answering",
  tools: "Running tools",
  approval: "Waiting for your approval",
  flushing: "Saving important memories",
  compacting: "Making room",
  retrying: "Trying again",
};

/** @type {[string, string][]} */
const BUTTONS = [
  ["flush", "Flush now"],
  ["compact", "Compact now"],
  ["stop", "Stop"],
  ["memory", "Open memory"],
];

const HISTORY = 60;

/** @param {number} value */
const number = (value) => value.toLocaleString("en-US");

/** @param {number} part @param {number} whole */
const percent = (part, whole) => (whole > 0 ? Math.min(Math.max((part * 100) / whole, 0), 100) : 0);

/**
 * An element. Text is always set as text, never as HTML.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} [children]
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** @param {Budget} data */
function bar(data) {
  const label = `${number(data.used)} of ${number(data.window)} tokens used, flush at ${number(data.flush_line)}, compaction at ${number(data.compaction_line)}`;
  const track = make("div", { class: "mf-bar", role: "img", "aria-label": label });
  for (const { kind, tokens } of data.segments) {
    if (tokens <= 0) continue;
    const part = make("div", { class: `mf-part mf-${kind}`, title: `${kind}: ${number(tokens)} tokens` });
    part.style.width = `${percent(tokens, data.window)}%`;
    track.append(part);
  }
  for (const [name, at] of /** @type {[string, number][]} */ ([["flush", data.flush_line], ["compaction", data.compaction_line]])) {
    const tick = make("div", { class: `mf-tick mf-tick-${name}`, title: `${name} at ${number(at)} tokens` });
    tick.style.left = `${percent(at, data.window)}%`;
    track.append(tick);
  }
  return track;
}

/** @param {Budget} data */
function legend(data) {
  const items = data.segments.filter(({ tokens }) => tokens > 0);
  const parts = items.map(({ kind, tokens }) =>
    make("li", {}, [make("span", { class: `mf-swatch mf-${kind}`, "aria-hidden": "true" }), `${kind} `, make("b", {}, [number(tokens)])]),
  );
  return make("ul", { class: "mf-legend", "aria-label": "What fills the context, in tokens" }, parts);
}

/** @param {Budget} data @returns {[string, string][]} */
function facts(data) {
  const cap = data.max_cost_usd === null ? "no cap" : `cap $${data.max_cost_usd.toFixed(2)}`;
  return [
    ["Flush at", number(data.flush_line)],
    ["Compaction at", number(data.compaction_line)],
    ["From cache", data.cached_share === null ? "–" : `${Math.round(data.cached_share * 100)}%`],
    ["Cost", `${data.cost_usd === null ? "no price known" : `$${data.cost_usd.toFixed(2)}`}, ${cap}`],
    ["Turns", number(data.turn)],
    ["Compactions", number(data.compactions)],
    ["Compacted away", data.pruned.messages ? `${number(data.pruned.messages)} messages, ${number(data.pruned.tokens)} tokens` : "nothing"],
    ["Sent shorter", data.shortened.results ? `${number(data.shortened.results)} results, ${number(data.shortened.tokens)} tokens less` : "nothing"],
    ["Recalled", data.recalled ? `${number(data.recalled)} passages` : "nothing"],
    ["Audit", data.audit_score === null ? "nothing yet" : `${Math.round(data.audit_score * 100)}% still there`],
  ];
}

/** @param {Point} point */
const marks = (point) => [point.flushed ? "flushed" : "", point.compacted ? "compacted" : ""].filter(Boolean).join(", ");

/**
 * @param {string} label
 * @param {string[]} heads
 * @param {string[][]} rows
 */
function table(label, heads, rows) {
  const head = make("tr", {}, heads.map((text) => make("th", { scope: "col" }, [text])));
  const body = rows.map((row) => make("tr", {}, row.map((text) => make("td", {}, [text]))));
  const made = make("table", { "aria-label": label }, [make("thead", {}, [head]), make("tbody", {}, body)]);
  return make("div", { class: "mf-scroll", tabindex: "0", role: "region", "aria-label": label }, [made]);
}

/** @param {Budget} data */
function history(data) {
  const points = data.history.slice(-HISTORY);
  const top = Math.max(data.window, ...points.map(({ used }) => used), 1);
  const label = `Tokens in the context over ${points.length} turns; the table below says the same`;
  const columns = points.map((point) => {
    const column = make("div", { class: "mf-column", title: `turn ${point.turn}: ${number(point.used)} tokens ${marks(point)}` });
    const solid = make("div", { class: "mf-solid" });
    solid.style.height = `${percent(point.used, top)}%`;
    column.append(make("div", { class: "mf-well" }, [solid]));
    column.append(make("span", { class: "mf-mark" }, [`${point.flushed ? "F" : ""}${point.compacted ? "C" : ""}`]));
    return column;
  });
  return make("div", { class: "mf-plot", role: "img", "aria-label": label }, columns);
}

/** @param {Flush} flush */
function flushRow(flush) {
  const when = flush.when === null ? `turn ${flush.turn}` : new Date(flush.when).toLocaleTimeString();
  return [when, flush.outcome, number(flush.saved), flush.file ?? "–", flush.notes.join(" · ") || flush.reason];
}

/** @param {Budget} data */
function work(data) {
  return data.background.map(({ kind, reason, progress }) => {
    const says = kind === "other" ? "Working in the background" : `In the background: ${kind}${reason ? ` (${reason})` : ""}`;
    const shown = make("progress", progress === null ? { "aria-label": says } : { "aria-label": says, max: "1", value: String(progress) });
    return make("div", { class: "mf-job" }, [says, shown]);
  });
}

/** @param {Memory} memory @param {Model} model */
function files(memory, model) {
  const rows = memory.files.map(({ name, size }) => {
    const button = make("button", { type: "button", class: "mf-file", "aria-pressed": String(name === memory.open) }, [name]);
    button.addEventListener("click", () => model.send({ do: "read", file: name }));
    return make("li", {}, [button, ` ${number(size)} bytes`]);
  });
  const parts = [make("p", {}, [memory.folder]), make("ul", { class: "mf-files" }, rows)];
  if (memory.open) parts.push(make("pre", { tabindex: "0", "aria-label": memory.open }, [memory.text]));
  return parts;
}

/** @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  const phase = make("span", { class: "mf-phase", role: "status", "aria-live": "polite" });
  const used = make("span", { class: "mf-used" });
  const said = make("p", { class: "mf-said", role: "status", "aria-live": "polite" });
  const body = make("div", { class: "mf-body" });
  // Kept between updates, so that what a person opened stays open and what holds the focus keeps it.
  const turns = make("details", {}, [make("summary", {}, ["Turns as a table"]), make("div")]);
  const flushes = make("details", {}, [make("summary", {}, ["Last flushes"]), make("div")]);
  const memory = make("section", { "aria-label": "Memory files" });
  const buttons = BUTTONS.map(([name, text]) => {
    const button = make("button", { type: "button", "data-do": name }, [text]);
    button.addEventListener("click", () => model.send({ do: name }));
    return button;
  });
  const head = make("div", { class: "mf-head" }, [used, phase]);
  const actions = make("div", { class: "mf-actions", role: "group", "aria-label": "Actions" }, buttons);
  el.append(make("section", { class: "mf-budget", "aria-label": "Context budget" }, [head, body, actions, said, turns, flushes, memory]));

  const draw = () => {
    /** @type {Budget} */
    const data = model.get("data");
    const says = PHASES[data.phase] ?? data.phase;
    if (phase.textContent !== says) phase.textContent = says;
    phase.dataset.phase = data.phase;
    const about = data.approximate ? "about " : "";
    used.textContent = data.window
      ? `Context ${about}${number(data.used)} of ${number(data.window)} tokens (${Math.round(percent(data.used, data.window))}%)`
      : "Context: nothing was measured yet";
    const rows = facts(data).map(([name, value]) => make("div", {}, [make("dt", {}, [name]), make("dd", {}, [value])]));
    const parts = [bar(data), legend(data), make("dl", { class: "mf-facts" }, rows), ...work(data)];
    if (data.history.length) parts.push(history(data), make("p", { class: "mf-note" }, ["Tokens after each turn · F flushed · C compacted"]));
    body.replaceChildren(...parts);
    const points = data.history.map((point) => [String(point.turn), number(point.used), marks(point) || "–"]);
    turns.lastElementChild?.replaceChildren(table("Tokens over turns", ["turn", "tokens", "what happened"], points));
    const rowsOfFlushes = data.flushes.map(flushRow);
    const none = make("p", {}, ["None in this kernel yet."]);
    flushes.lastElementChild?.replaceChildren(
      rowsOfFlushes.length ? table("Last flushes", ["when", "outcome", "saved", "file", "notes"], rowsOfFlushes) : none,
    );
  };
  const tell = () => {
    said.textContent = model.get("said");
  };
  const list = () => {
    const found = model.get("memory");
    memory.replaceChildren(...(found.folder ? files(found, model) : []));
  };
  /** @type {[string, () => void][]} */
  const watched = [["change:data", draw], ["change:said", tell], ["change:memory", list]];
  for (const [event, call] of watched) {
    call();
    model.on(event, call);
  }
  return () => {
    for (const [event, call] of watched) model.off(event, call);
  };
}

export default { render };
