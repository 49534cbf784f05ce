"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (s, at = document) => at.querySelector(s);
const all = (s, at = document) => [...at.querySelectorAll(s)];
const make = (tag, props = {}, ...kids) => { const e = Object.assign(document.createElement(tag), props); e.append(...kids); return e; };
const root = document.documentElement;

// Okabe and Ito's colours, told apart by every common kind of colour vision; form tells too.
const COLORS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#b5558e", "#c98700", "#3a9bd4", "#3b3b3b"],
  dark: ["#56b4e9", "#f0803c", "#2cc79b", "#e39ac5", "#e9b04a", "#9ad3f5", "#d6d3cc"],
};
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon"];
// The same forms beside names on the page.
const OUTLINES = ["circle(50%)", "inset(8%)", "polygon(50% 0,100% 50%,50% 100%,0 50%)", "polygon(50% 0,100% 100%,0 100%)", "polygon(33% 0,67% 0,67% 33%,100% 33%,100% 67%,67% 67%,67% 100%,33% 100%,33% 67%,0 67%,0 33%,33% 33%)", "polygon(50% 0,62% 36%,100% 36%,69% 58%,81% 95%,50% 72%,19% 95%,31% 58%,0 36%,38% 36%)", "polygon(25% 5%,75% 5%,100% 50%,75% 95%,25% 95%,0 50%)"];
const formOf = (form) => (form + Math.floor(form / 7)) % SYMBOLS.length;
const DASHES = ["solid", "dash", "dashdot", "longdash"];
const CIVIDIS = [[0, "#00224e"], [.2, "#35456c"], [.4, "#666970"], [.6, "#948e77"], [.8, "#c8b866"], [1, "#fee838"]];
const DIVERGING = [[0, "#b35806"], [.25, "#f1a340"], [.5, "#f7f7f7"], [.75, "#67a9cf"], [1, "#2166ac"]];

let printing = false;
const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
// Checkpoints are ordered, and so are their colours, from the first to the last; other models beyond the
// seventh take darker and lighter kinds of the seven.
const RAMP = { light: ["#00224e", "#2f5d8c", "#4c8c86", "#8a8f3c", "#b07a00"], dark: ["#7a9fd6", "#6fb7c9", "#8fcf9b", "#d6d06a", "#ffe08a"] };
const ordered = data.ordered || 0;
const parts = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
const mix = (a, b, t) => "#" + parts(a).map((v, k) => Math.round(v + (parts(b)[k] - v) * t).toString(16).padStart(2, "0")).join("");
const color = (i, model) => {
  const mode = isDark() ? "dark" : "light";
  if (model && i < ordered) { const r = RAMP[mode], at = ordered > 1 ? i / (ordered - 1) * (r.length - 1) : 0, k = Math.min(r.length - 2, Math.floor(at)); return mix(r[k], r[k + 1], at - k); }
  const c = COLORS[mode], round = Math.floor(i / c.length), base = c[i % c.length];
  return round ? mix(base, round % 2 ? "#000000" : "#ffffff", Math.min(.55, .3 + .1 * (round >> 1))) : base;
};
const clear = (hex, a) => hex + Math.round(a * 255).toString(16).padStart(2, "0");

// ---- drawing -------------------------------------------------------------------------------

function dress(trace) {
  const t = structuredClone(trace), m = t.meta || {}, c = color(m.color || 0, m.model), ink = printing ? "#1c1d1f" : css("--ink"), soft = printing ? "#565a60" : css("--soft");
  // Colour and form repeat out of step, so that 49 models differ.
  const form = m.model && m.color < ordered ? 0 : m.color || 0;
  const symbol = SYMBOLS[formOf(form)] + (m.published ? "-open" : "");
  const dash = m.published ? "dot" : DASHES[Math.floor(form / 7) % DASHES.length];
  if (m.kind === "bar") {
    t.marker = { color: m.published ? clear(c, .15) : c, line: { color: c, width: m.published ? 1.5 : 0 }, pattern: m.published ? { shape: "/", fgcolor: c, size: 6 } : undefined };
    if (t.error_y) t.error_y.color = ink;
  } else if (m.kind === "line") { t.line = { color: c, width: 2, dash }; t.marker = { color: c, symbol, size: 7 };
  } else if (m.kind === "band") { t.line = { width: 0, color: c }; t.fillcolor = clear(c, .14);
  } else if (m.kind === "points") { t.marker = { color: m.published ? c : clear(c, .75), symbol, size: 8 }; t.textfont = { color: ink, size: 11 };
  } else if (m.kind === "fit") { t.line = { color: c, width: 2, dash };
  } else if (m.kind === "box") { t.marker = { color: c, size: 4, opacity: .6 }; t.line = { color: c, width: 1.5 }; t.fillcolor = clear(c, .12);
  } else if (m.kind === "strip") { t.marker = { color: c, size: 7, symbol }; t.line = { color: "rgba(0,0,0,0)", width: 0 }; t.fillcolor = "rgba(0,0,0,0)";
  } else if (m.kind === "dot") { t.marker = { color: c, symbol, size: 9, line: { color: css("--paper"), width: 1 } }; t.error_x.color = clear(c, .65);
  } else if (m.kind === "chance") { t.line = { color: soft, width: 1.5, dash: "dot" };
  } else if (m.kind === "human") { t.line = { color: ink, width: 1.5 };
  } else if (m.kind === "heat") { t.colorscale = CIVIDIS; t.colorbar.tickfont = { color: soft };
  } else if (m.kind === "diverging") { t.colorscale = DIVERGING; t.zmid = 0; t.colorbar.tickfont = { color: soft }; }
  return t;
}

function layoutOf(spec, width) {
  const l = structuredClone(spec.layout), ink = printing ? "#1c1d1f" : css("--ink"), soft = printing ? "#565a60" : css("--soft"), rule = printing ? "#dcd8cf" : css("--rule");
  const narrow = width < 560;
  Object.assign(l, {
    width, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: css("--sans"), size: narrow ? 11 : 12.5, color: ink },
    margin: { l: narrow ? 44 : 60, r: 16 + 7 * Math.max(0, ...(l.annotations || []).filter((n) => n.xref === "paper").map((n) => n.text.length)), t: 16, b: 50 }, legend: { orientation: "h", tracegroupgap: 0, x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: css("--card"), bordercolor: rule, font: { color: ink, family: css("--sans"), size: 12.5 }, align: "left" }, dragmode: "zoom",
  });
  for (const a of ["xaxis", "yaxis"]) {
    l[a] = Object.assign({ gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickfont: { color: soft }, title: {} }, l[a]);
    l[a].title = Object.assign({ font: { color: soft, size: 12.5 }, standoff: 10 }, l[a].title);
  }
  for (const s of l.shapes || []) if (s.type === "rect") s.fillcolor = clear(soft, .13); else s.line.color = soft;
  for (const n of l.annotations || []) n.font = { color: soft, size: 11.5 };
  return l;
}

const drawn = new Map();
// Which models the boxes of a profile leave out; figures without boxes follow those of the first.
const ticked = (figure) => ({ hidden: new Set(all("[data-subject]:not(:checked)", $("[data-subject]", figure) ? figure : document).map((b) => +b.dataset.subject)) });
function draw(figure) {
  const id = figure.dataset.figure, spec = data.figures[id], canvas = $(".canvas", figure);
  if (!spec) return;
  const width = printing ? 680 : Math.max(280, canvas.clientWidth);
  const state = drawn.get(id) || ticked(figure);
  const traces = spec.traces.map(dress), layout = layoutOf(spec, width);
  makeRoom(traces.filter((t) => !(state.hidden || new Set()).has((t.meta || {}).color) || (t.meta || {}).kind !== "dot"), layout, width);
  if (spec.bands) narrow(spec, traces, layout, state);
  Plotly.react(canvas, traces, layout, { displayModeBar: false, responsive: false, showTips: false, scrollZoom: false });
  if (!figure.dataset.drawn) canvas.on("plotly_click", (e) => { const p = e.points.find((p) => typeof p.customdata === "string"); if (p) follow(p.customdata); });
  drawn.set(id, state);
  figure.dataset.drawn = "yes";
}

// Names take room of their own: a legend makes the figure higher instead of the plot lower, one that nobody
// could read is left to hovering, and long names on the left are cut in the middle.
const MOST_NAMES = 10;
function makeRoom(traces, layout, width) {
  const names = traces.filter((t) => t.showlegend !== false && t.name).map((t) => t.name.replace(/<[^>]*>|&[a-z]+;/g, "x"));
  if (layout.showlegend && names.length > MOST_NAMES + 2) layout.showlegend = false;
  if (layout.showlegend) {
    for (const t of traces) if (t.name && t.name.length > 40 && !/[<&]/.test(t.name)) t.name = t.name.slice(0, 20) + "…" + t.name.slice(-19);
    const widest = 48 + 7 * Math.min(30, Math.max(0, ...names.map((n) => n.length))), columns = Math.max(1, Math.floor((width - 90) / widest));
    layout.height = (layout.height || 450) + 20 * (Math.ceil(names.length / columns) - 1);
  }
  const most = width < 560 ? 16 : 40, cut = (s) => s.length > most ? s.slice(0, most / 2) + "…" + s.slice(-(most / 2 - 1)) : s;
  const rows = traces.find((t) => t.type === "heatmap");
  if (rows && rows.y.some((n) => n.length > most)) Object.assign(layout.yaxis, { tickvals: rows.y, ticktext: rows.y.map(cut) });
}

// The profile shows one family or all, and the models that are ticked.
function narrow(spec, traces, layout, state) {
  const hidden = state.hidden || new Set(), dots = traces.filter((t) => t.meta.kind === "dot"), shown = dots.filter((t) => !hidden.has(t.meta.color));
  // A row is as high as the models that are ticked need, and they share it.
  const n = shown.length, row = Math.min(200, Math.max(30, Math.min(n, 6) * 9 + Math.max(0, n - 6) * 5 + 16)), extra = layout.height - spec.layout.height;
  const band = spec.bands.find((b) => b.family === state.family) || { from: 0, to: spec.end };
  layout.yaxis.range = [band.to, band.from]; layout.height = (band.to - band.from) * row + 110 + extra;
  shown.forEach((t, i) => { t.y = t.meta.middles.map((y) => y + (i - (n - 1) / 2) * .72 / n); });
  for (const t of dots) t.visible = !hidden.has(t.meta.color) || (dots.length > MOST_NAMES + 2 ? false : "legendonly");
}

const figures = all("figure[data-figure]");
const watcher = new IntersectionObserver((seen) => { for (const s of seen) if (s.isIntersecting) { watcher.unobserve(s.target); draw(s.target); } }, { rootMargin: "600px" });
for (const f of figures) watcher.observe(f);
const redraw = () => { for (const f of figures) if (f.dataset.drawn) draw(f); paintDots(); };
const drawAll = () => { for (const f of figures) draw(f); };
let resizing; addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redraw, 150); });
addEventListener("beforeprint", () => { printing = true; for (const d of all("details.more")) d.open = true; drawAll(); });
addEventListener("afterprint", () => { printing = false; redraw(); });

// A table that goes on to the right says so until its end is seen.
const goesOn = (box) => box.classList.toggle("more-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
const sizes = new ResizeObserver((seen) => { for (const s of seen) goesOn(s.target.closest(".scroll")); });
for (const box of all(".scroll")) { sizes.observe(box); for (const kid of box.children) sizes.observe(kid); box.addEventListener("scroll", () => goesOn(box), { passive: true }); }

function paintDots() { for (const d of all("[data-color]")) { const i = +d.dataset.color; d.style.background = color(i, true); d.style.clipPath = OUTLINES[i < ordered ? 0 : formOf(i)]; } }

for (const f of figures) {
  const id = f.dataset.figure, spec = data.figures[id];
  if (!spec) continue;
  f.addEventListener("click", (e) => { const what = e.target.dataset.do; if (what) act(what, f, id, spec); if (e.target.dataset.tick) tickAll(f, id, e.target.dataset.tick === "all"); });
  f.addEventListener("change", (e) => {
    const state = drawn.get(id) || ticked(f);
    if (e.target.matches("[data-family]")) state.family = e.target.value;
    if (e.target.matches("[data-subject]")) { state.hidden = state.hidden || new Set(); state.hidden[e.target.checked ? "delete" : "add"](+e.target.dataset.subject); }
    drawn.set(id, state); draw(f);
  });
  const fallback = $(".fallback", f);
  fallback.addEventListener("toggle", () => { if (fallback.open && !fallback.dataset.filled) { fallback.dataset.filled = "yes"; fill($(".scroll", fallback), spec); } });
}

function tickAll(figure, id, on) {
  const state = drawn.get(id) || ticked(figure), boxes = all("[data-subject]", figure);
  for (const b of boxes) b.checked = on;
  state.hidden = new Set(on ? [] : boxes.map((b) => +b.dataset.subject));
  drawn.set(id, state); draw(figure);
}

function act(what, figure, id, spec) {
  const canvas = $(".canvas", figure);
  if (what === "reset") draw(figure), Plotly.relayout(canvas, resetOf(layoutOf(spec, canvas.clientWidth), drawn.get(id), spec));
  else if (what === "csv") save(id + ".csv", "text/csv", "\ufeff" + spec.csv);
  else { const size = { format: what, width: 900, height: canvas.layout.height, filename: id, scale: what === "png" ? 3 : 1 };
    const paper = isDark() ? "#15171a" : "#ffffff";
    Plotly.toImage({ data: canvas.data, layout: Object.assign({}, canvas.layout, { paper_bgcolor: paper }) }, size).then((url) => download(id + "." + what, url)); }
}
function resetOf(l, state, spec) {
  const out = {};
  for (const a of ["xaxis", "yaxis"]) if (l[a].range) out[a + ".range"] = l[a].range; else out[a + ".autorange"] = l[a].autorange || true;
  if (state && state.family && spec.bands) delete out["yaxis.range"];
  return out;
}
function save(name, kind, text) { const url = URL.createObjectURL(new Blob([text], { type: kind })); download(name, url); setTimeout(() => URL.revokeObjectURL(url), 2000); }
function download(name, url) { const a = make("a", { href: url, download: name }); document.body.append(a); a.click(); a.remove(); root.dataset.saved = name; }

function fill(at, spec) {
  const most = 500, table = make("table", { className: "plain" }), head = make("tr");
  for (const h of spec.table.head) head.append(make("th", { scope: "col", textContent: h }));
  if (spec.addresses) head.append(make("th", { scope: "col", textContent: "samples" }));
  table.append(make("thead", {}, head));
  const body = make("tbody"), published = new Set(spec.table.published);
  spec.table.rows.slice(0, most).forEach((row, i) => {
    const tr = make("tr");
    row.forEach((cell, c) => tr.append(make(c ? "td" : "th", c ? { textContent: cell } : { scope: "row", textContent: cell + (published.has(i) && !cell.includes("published") ? " (published)" : "") })));
    if (spec.addresses) { const td = make("td"); if (spec.addresses[i]) { const b = make("button", { type: "button", textContent: "show" }); b.setAttribute("aria-label", "Show the samples of " + row.slice(0, 2).join(", ")); b.onclick = () => follow(spec.addresses[i]); td.append(b); } tr.append(td); }
    body.append(tr);
  });
  table.append(body); at.append(table); sizes.observe(table);
  if (spec.table.rows.length > most) at.append(make("p", { className: "small", textContent: `The first ${most} of ${spec.table.rows.length} rows; the CSV holds all.` }));
}

// ---- tables ---------------------------------------------------------------------------------

document.addEventListener("click", (e) => {
  const button = e.target.closest("[data-copy]");
  if (button) {
    const box = button.closest("[data-table]"), text = data.tables[box.dataset.table][button.dataset.copy];
    copy(text).then((ok) => { $("[role=status]", box).textContent = ok ? "copied" : "the browser did not allow copying"; });
  }
  const link = e.target.closest("[data-samples]");
  if (link) { e.preventDefault(); follow(link.dataset.samples); }
});
async function copy(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* from disk the older way may be the only one */ }
  const box = make("textarea", { value: text, className: "sr" }); box.setAttribute("aria-hidden", "true");
  document.body.append(box); box.select(); let ok = false; try { ok = document.execCommand("copy"); } catch { ok = false } box.remove(); return ok;
}

// ---- samples ---------------------------------------------------------------------------------

const S = data.samples, PAGE = 6;
const view = { model: "", task: "", text: "", tag: "", classes: new Set(), page: 0 };
S.subjects.forEach((s) => $("#f-model").append(make("option", { value: s.label, textContent: s.label })));
S.tasks.forEach((t) => $("#f-task").append(make("option", { value: t, textContent: t })));
S.classes.forEach(([name, words], i) => {
  const n = S.counts.reduce((sum, [, , c]) => sum + c[i], 0);
  if (!n) return;
  const input = make("input", { type: "checkbox", value: i });
  input.onchange = () => { view.classes[input.checked ? "add" : "delete"](i); show(0); };
  $("#f-outcome").append(make("label", {}, input, make("span", { className: "badge " + name, textContent: words }), make("span", { className: "small", textContent: n.toLocaleString("en") })));
});
$("#sample-filters").addEventListener("submit", (e) => e.preventDefault());
$("#f-model").onchange = (e) => { view.model = e.target.value; show(0); };
$("#f-task").onchange = (e) => { view.task = e.target.value; show(0); };
let typing; $("#f-text").oninput = (e) => { clearTimeout(typing); typing = setTimeout(() => { view.text = e.target.value.toLowerCase(); show(0); }, 120); };
$("#prev").onclick = () => show(view.page - 1);
$("#next").onclick = () => show(view.page + 1);

const plain = (h) => { const t = make("template"); t.innerHTML = h; return t.content.textContent; };
const words = new Map();
const textOf = (row, i) => { if (!words.has(i)) words.set(i, (row.i + " " + row.g.join(" ") + " " + plain(S.questions[row.q]) + " " + plain(row.h)).toLowerCase()); return words.get(i); };
const fits = (m, t) => (!view.model || S.subjects[m].label === view.model || S.subjects[m].model === view.model) && (!view.task || S.tasks[t] === view.task);

function show(page) {
  const rows = S.rows.map((row, i) => [row, i]).filter(([row, i]) => fits(row.m, row.t) && (!view.classes.size || view.classes.has(row.c)) && (!view.tag || row.g.includes(view.tag)) && (!view.text || textOf(row, i).includes(view.text)));
  rows.sort((a, b) => a[0].t - b[0].t || a[0].c - b[0].c || (a[0].i < b[0].i ? -1 : a[0].i > b[0].i ? 1 : 0) || a[0].m - b[0].m);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  view.page = Math.min(Math.max(0, page), pages - 1);
  const list = $("#sample-list"); list.replaceChildren();
  for (const [row] of rows.slice(view.page * PAGE, view.page * PAGE + PAGE)) list.append(entry(row));
  const total = S.counts.reduce((sum, [m, t, c]) => sum + (fits(m, t) ? c.reduce((a, n, i) => a + (!view.classes.size || view.classes.has(i) ? n : 0), 0) : 0), 0);
  const of = view.tag || view.text ? "" : ` of ${total.toLocaleString("en")} in the run`;
  $("#sample-count").textContent = rows.length ? `${rows.length.toLocaleString("en")} samples${of} match.` : `No sample included here matches${of}; mary view shows all.`;
  $("#page").textContent = `page ${view.page + 1} of ${pages}`;
  $("#prev").disabled = view.page === 0; $("#next").disabled = view.page >= pages - 1;
  const at = $("#f-tag"); at.replaceChildren();
  if (view.tag) { const b = make("button", { type: "button", textContent: view.tag + " ×" }); b.setAttribute("aria-label", "Remove the filter " + view.tag); b.onclick = () => { view.tag = ""; show(0); }; at.append(b); }
}

function entry(row) {
  const [name, words] = S.classes[row.c];
  const trial = row.n ? `, trial ${row.n + 1}` : "";
  const box = make("details", {}, make("summary", {},
    make("span", {}, make("span", { className: "badge " + name, textContent: words })),
    make("span", { className: "line", dir: "auto", textContent: row.e }),
    make("span", { className: "ans", dir: "auto", textContent: row.a }),
    make("span", { className: "who", textContent: `${S.subjects[row.m].label}, ${S.tasks[row.t]}, ${row.i}${trial}` })));
  box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(story(row)); });
  return box;
}

// The pieces were escaped when the report was made; the page's policy runs no script in them.
function story(row) {
  const left = make("div"), right = make("div");
  left.innerHTML = S.questions[row.q]; right.innerHTML = row.h;
  if (row.g.length) left.append(make("p", { className: "small", textContent: row.g.join(", ") }));
  const both = make("div", { className: "story" }, left, right);
  for (const img of all("img[data-picture]", both)) img.src = S.pictures[+img.dataset.picture];
  return both;
}

// From a bar to the samples behind it: model|task|tag=value.
function follow(address) {
  const [model, task, ...rest] = address.split("|"), tag = rest.join("|");
  Object.assign(view, { model: model || "", task: task || "", tag, text: "" });
  view.classes.clear();
  const who = S.subjects.find((s) => s.label === model || s.model === model);
  $("#f-model").value = who ? who.label : ""; $("#f-task").value = task || ""; $("#f-text").value = "";
  for (const box of all("#f-outcome input")) box.checked = false;
  show(0);
  $("#samples").scrollIntoView(); $("#samples-h").focus({ preventScroll: true });
}

// A link to something folded unfolds it.
function unfold(id) {
  const at = id && document.getElementById(id);
  if (!at) return;
  for (let d = at.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  at.scrollIntoView();
}
document.addEventListener("click", (e) => { const a = e.target.closest(".contents a"); if (a) unfold(a.getAttribute("href").slice(1)); });
const byHash = () => { try { unfold(decodeURIComponent(location.hash.slice(1))); } catch { /* an address that is none */ } };
addEventListener("hashchange", byHash);

// ---- light and dark, contents -----------------------------------------------------------------

const theme = $("#theme");
const tell = () => { theme.textContent = isDark() ? "Switch to light" : "Switch to dark"; theme.hidden = false; };
theme.onclick = () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); redraw(); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tell(); redraw(); });
const links = new Map(all(".contents > ol > li > a").map((a) => [a.getAttribute("href").slice(1), a]));
const spy = new IntersectionObserver((seen) => { for (const s of seen) if (s.isIntersecting) { for (const a of links.values()) a.removeAttribute("aria-current"); const a = links.get(s.target.id); if (a) a.setAttribute("aria-current", "true"); } }, { rootMargin: "-20% 0px -70% 0px" });
for (const s of all("main > section")) spy.observe(s);
tell(); paintDots(); show(0); byHash();
window.maryReport = { drawAll, follow };
})();
