// Opens pages from disk in headless Chromium, on a desktop, on a phone, in the dark, on paper and without scripts. Fails on an error
// on the console, a request to anything but the page, a plot that is not drawn, bars that hang in the air, or a page wider than its
// window.
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

const VIEWS = [
  { name: "desktop", viewport: { width: 1280, height: 900 } },
  { name: "desktop-dark", viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  { name: "phone", viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  { name: "no-script", viewport: { width: 360, height: 740 }, javaScriptEnabled: false },
];

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
    for (const what of await page.evaluate(undrawn)) fault(what);
    for (const what of await page.evaluate(afloat)) fault(what);
    if (view === "desktop") await use(page, fault);
    await page.emulateMedia({ media: "print", colorScheme: "light" });
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

// Every choice redraws, a pointer over a plot shows a tooltip, and the slider of the last timeline zooms the first.
async function use(page, fault) {
  for (const choice of await page.locator("[data-choice]").all()) {
    const last = await choice.locator("option").last().getAttribute("value");
    await choice.selectOption(last);
    for (const what of await page.evaluate(undrawn)) fault(`after a choice, ${what}`);
  }
  for (const kind of ["speedup", "kinds", "figure"]) {
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
    await page.mouse.move(box.x + 111, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, y, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(200);
    if ((await drawn()) === before) fault("the slider does not zoom the first timeline");
    await page.screenshot({ path: join(pictures, `${basename(page.url(), ".html")}-zoomed.png`) });
  }
}
