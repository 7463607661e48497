// Opens pages from disk in headless Chromium: at 1400 and 390 pixels, in the light and in the dark, on paper and without
// scripts. Fails on an error on the console, a request to anything but the page, a plot that is not drawn, bars that hang in
// the air, have no value or are squeezed by another, text that is cut, or a page wider than its window or its paper.
//
// Usage: node html_page.mjs PICTURES PAGE...

import { mkdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [pictures, ...pages] = process.argv.slice(2);
if (!pages.length) {
  console.error("usage: node html_page.mjs PICTURES PAGE...");
  process.exit(2);
}
mkdirSync(pictures, { recursive: true });

const PHONE = { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
const DESKTOP = { viewport: { width: 1400, height: 900 } };
const VIEWS = [
  { name: "desktop", ...DESKTOP },
  { name: "desktop-dark", ...DESKTOP, colorScheme: "dark" },
  { name: "phone", ...PHONE },
  { name: "phone-dark", ...PHONE, colorScheme: "dark" },
  { name: "no-script", viewport: PHONE.viewport, javaScriptEnabled: false },
];
// A4 less the margins of @page, in CSS pixels.
const PAPER = { width: 688, height: 1016 };

const faults = [];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

// Chromium waits for frames more than it computes: several views at a time, the longest page first.
const views = pages.flatMap((path) => VIEWS.map((view) => ({ path, view })));
views.sort((a, b) => statSync(b.path).size - statSync(a.path).size);
await Promise.all(
  Array.from({ length: availableParallelism() + 1 }, async () => {
    for (let next = views.shift(); next; next = views.shift()) await look(next.path, next.view);
  }),
);
await browser.close();
for (const fault of faults.sort()) console.error(fault);
console.log(`${pages.length} pages in ${VIEWS.length} views: ${faults.length} faults`);
process.exit(faults.length ? 1 : 0);

// A page in one view. Each has a context of its own, so that views can be looked at side by side.
async function look(path, { name: view, ...options }) {
  const url = pathToFileURL(resolve(path)).href;
  const name = basename(path, ".html");
  const context = await browser.newContext(options);
  // A busy machine is no fault of the page.
  context.setDefaultTimeout(180_000);
  const page = await context.newPage();
  const fault = (what) => faults.push(`${name}, ${view}: ${what}`);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && fault(`console: ${message.text()}`));
  page.on("pageerror", (error) => fault(`error: ${error.message}`));
  page.on("dialog", (dialog) => (fault(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) fault(`request: ${request.url()}`);
  });
  await page.goto(url, { waitUntil: "load" });
  await page.screenshot({ path: join(pictures, `${name}-${view}.png`), fullPage: true });

  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wider > 0) fault(`${wider} px wider than the window`);
  if (options.javaScriptEnabled === false) {
    const rows = await page.locator("table tbody tr").count();
    const records = name === "empty" ? 0 : 1;
    if (rows < records) fault("no table without scripts");
  } else {
    for (const check of [undrawn, afloat, unvalued, squeezed, cut]) for (const what of await page.evaluate(check)) fault(what);
    if (view === "desktop") await use(page, fault);
    await page.emulateMedia({ media: "print", colorScheme: "light" });
    await page.setViewportSize(PAPER);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    for (const what of await page.evaluate(offPaper)) fault(`on paper, ${what}`);
    if (view === "desktop") await page.pdf({ path: join(pictures, `${name}.pdf`), preferCSSPageSize: true, printBackground: true });
  }
  await context.close();
}

// Plots without a drawing: an SVG needs shapes with an area, a canvas more than one colour.
function undrawn() {
  const faults = [];
  for (const plot of document.querySelectorAll("[data-plot]")) {
    const said = `plot ${plot.dataset.plot}`;
    const svgs = [...plot.querySelectorAll("svg")];
    const canvases = [...plot.querySelectorAll("canvas")];
    if (!svgs.length && !canvases.length) faults.push(`${said} is not drawn`);
    for (const svg of svgs) {
      const shapes = [...svg.querySelectorAll("path")].filter((shape) => {
        const { width, height } = shape.getBBox();
        return width > 0 && height > 0 && shape.getAttribute("fill") !== "none";
      });
      if (!shapes.length) faults.push(`${said} is empty`);
      if (!svg.querySelector("text")) faults.push(`${said} has no labels`);
      const labels = [...svg.querySelectorAll("text")].map((label) => ({ said: label.textContent, ...label.getBoundingClientRect().toJSON() }));
      const inset = 2;
      const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > inset && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > inset;
      labels.forEach((a, at) => labels.slice(at + 1).filter((b) => over(a, b)).forEach((b) => faults.push(`${said}: "${a.said}" over "${b.said}"`)));
      if (svg.getBoundingClientRect().right > innerWidth) faults.push(`${said} is cut off`);
    }
    for (const canvas of canvases) {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const colors = new Set();
      for (let at = 0; at < data.length; at += 4 * 7) if (data[at + 3] === 255) colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
      if (colors.size < 2) faults.push(`${said} is empty`);
    }
  }
  return faults;
}

// Bars that do not stand on the lower end of a logarithmic axis, or are not one for each value above 0, and values of 0 that are not
// written.
function afloat() {
  const faults = [];
  const { figures = [] } = JSON.parse(document.getElementById("data").textContent);
  for (const plot of document.querySelectorAll('[data-plot="figure"]')) {
    const { shape, log_y: isLogarithmic, panels } = figures[plot.dataset.figure];
    if (shape !== "bars" || !isLogarithmic) continue;
    const values = panels[plot.dataset.panel].points.flat().map(({ y }) => y);
    const inks = new Set([...document.querySelectorAll(`[data-key="${plot.dataset.figure}"] i`)].map((swatch) => getComputedStyle(swatch).backgroundColor));
    const shapes = [...plot.querySelectorAll("svg path")].filter((path) => {
      const { width, height } = path.getBBox();
      const { fill } = getComputedStyle(path);
      return width > 0 && height > 0 && (inks.size ? inks.has(fill) : fill !== "none");
    });
    const boxes = shapes.map((path) => path.getBoundingClientRect());
    const spread = (edge) => Math.max(...boxes.map(edge)) - Math.min(...boxes.map(edge));
    const bars = values.filter((y) => y > 0).length;
    if (boxes.length !== bars) faults.push(`${boxes.length} bars for ${bars} values above 0`);
    if (bars && Math.min(spread(({ bottom }) => bottom), spread(({ left }) => left)) > 1.5) faults.push("bars do not stand on one line");
    const written = [...plot.querySelectorAll("svg text")].filter(({ textContent }) => textContent === "0").length;
    const zeros = values.filter((y) => y === 0).length;
    if (written !== zeros) faults.push(`${zeros} values of 0, ${written} written`);
  }
  return faults;
}

// Bars without a value on them: of a study's figures and of speedups, as the page's data has them.
function unvalued() {
  const faults = [];
  const brief = (value) => {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size < 1e-3 || size >= 1e6) return value.toExponential(1);
    return size >= 100 ? String(Math.round(value)) : value.toPrecision(3);
  };
  const { figures = [], points = [], groups = [], policies = [], baseline } = JSON.parse(document.getElementById("data").textContent);
  const values = ({ plot, figure, panel }) => {
    if (plot === "figure") return figures[figure].shape === "bars" ? figures[figure].panels[panel].points.flat().map(({ y }) => y) : [];
    if (plot !== "speedup") return [];
    const time = (group, policy) => points.find((at) => at.group === group && at.policy === policy)?.time_s;
    const others = policies.map((_, policy) => policy).filter((policy) => policy !== baseline);
    const free = groups.map((_, group) => group).filter((group) => !groups[group].timed);
    return free.flatMap((group) => others.map((policy) => time(group, baseline) / time(group, policy))).filter((ratio) => ratio > 0 && ratio < Infinity);
  };
  for (const plot of document.querySelectorAll("[data-plot]")) {
    const said = [...plot.querySelectorAll("svg text")].map((text) => text.textContent.split(" ")[0]);
    const missing = values(plot.dataset).filter((value) => {
      const at = said.indexOf(brief(value));
      if (at >= 0) said.splice(at, 1);
      return at < 0;
    });
    if (missing.length) faults.push(`plot ${plot.dataset.plot}: no value on ${missing.length} bars, as ${missing[0]}`);
  }
  return faults;
}

// Plots in which half of the bars take less than a quarter of the longest, and axes that do not say that they are not linear.
function squeezed() {
  const faults = [];
  for (const plot of document.querySelectorAll("[data-axis]")) {
    const said = [...plot.querySelectorAll("svg text")].map((text) => text.textContent).join(" ");
    const { axis } = plot.dataset;
    if (axis === "broken" && !/axis broken after/.test(said)) faults.push(`plot ${plot.dataset.plot} does not say that its axis is broken`);
    if (axis === "logarithmic" && !/logarithmic/.test(said)) faults.push(`plot ${plot.dataset.plot} does not say that its axis is logarithmic`);
    const { figures = [], groups, points } = JSON.parse(document.getElementById("data").textContent);
    if (axis !== "linear" || !["speedup", "energy", "edp"].includes(plot.dataset.plot) || figures.length || groups.length < 4) continue;
    // Bars lie: what is left of the longest is the axis.
    const widths = [...plot.querySelectorAll("svg path")].filter((path) => getComputedStyle(path).fill !== "none").map((path) => path.getBBox().width).filter((width) => width > 2).sort((a, b) => a - b);
    const most = widths.at(-1) ?? 0;
    if (widths.length > 8 && widths[Math.floor(widths.length * 0.6)] < most / 4) faults.push(`plot ${plot.dataset.plot} is squeezed by an outlier`);
  }
  return faults;
}

// Text that is cut: labels that leave their plot or end in an ellipsis, and what scrolls without a sign of it.
function cut() {
  const faults = [];
  const data = JSON.parse(document.getElementById("data").textContent);
  // Names that no plot has room for.
  const tooLong = JSON.stringify(data).match(/"[^"]{60,}"/);
  for (const svg of document.querySelectorAll("[data-plot] svg")) {
    const { plot } = svg.closest("[data-plot]").dataset;
    const frame = svg.getBoundingClientRect();
    for (const label of svg.querySelectorAll("text")) {
      const box = label.getBoundingClientRect();
      const over = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (over > 2) faults.push(`plot ${plot}: "${label.textContent}" is cut by ${Math.round(over)} px`);
      if (label.textContent.endsWith("…") && !tooLong) faults.push(`plot ${plot}: "${label.textContent}" is shortened`);
    }
  }
  for (const element of document.querySelectorAll("body *:not(svg, svg *, select, option)")) {
    if (element.scrollWidth <= element.clientWidth + 1 || getComputedStyle(element).overflowX === "visible") continue;
    const isSigned = !["none", '""'].includes(getComputedStyle(element, "::before").content);
    const isPlot = element.closest("[data-plot]");
    if (!isSigned && !isPlot) faults.push(`${element.tagName.toLowerCase()}.${element.className} is cut without a sign that it scrolls`);
  }
  return faults;
}

// What is wider than paper.
function offPaper() {
  const faults = [];
  for (const wide of document.querySelectorAll("table, svg, canvas")) {
    const { right } = wide.getBoundingClientRect();
    if (right > innerWidth + 1) faults.push(`${wide.tagName.toLowerCase()} is cut by ${Math.round(right - innerWidth)} px`);
  }
  return faults;
}

// Every choice redraws, a pointer over a plot shows a tooltip, and the slider of the last timeline zooms the first.
async function use(page, fault) {
  for (const choice of await page.locator("[data-choice]").all()) {
    const last = await choice.locator("option").last().getAttribute("value");
    await choice.selectOption(last);
    for (const what of await page.evaluate(undrawn)) fault(`after a choice, ${what}`);
  }
  for (const kind of ["speedup", "wake-p99", "kinds", "figure"]) {
    const plot = page.locator(`[data-plot="${kind}"] svg`).first();
    if (!(await plot.count())) continue;
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 3);
    await page.waitForTimeout(100);
    const tips = await page.locator(`[data-plot="${kind}"]`).first().locator("> div:last-child").innerText();
    if (!/\d/.test(tips)) fault(`plot ${kind} has no tooltip`);
  }
  const lanes = page.locator('[data-plot="timeline"] canvas');
  if (await lanes.count()) {
    const drawn = () => lanes.first().evaluate((canvas) => canvas.toDataURL());
    const before = await drawn();
    await lanes.last().scrollIntoViewIfNeeded();
    const box = await lanes.last().boundingBox();
    // From the slider's left end to the middle.
    const y = box.y + box.height - 15;
    const { slider } = await lanes.last().evaluate((canvas) => canvas.closest("[data-slider]").dataset);
    await page.mouse.move(box.x + Number(slider), y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, y, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(200);
    if ((await drawn()) === before) fault("the slider does not zoom the first timeline");
    await page.screenshot({ path: join(pictures, `${basename(page.url(), ".html")}-zoomed.png`) });
  }
}
