// A picture of a page's first screens, down to the end of its first section of plots. Usage: node report_picture.mjs PAGE PICTURE

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [path, picture] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1180, height: 900 } });
await page.goto(pathToFileURL(resolve(path)).href, { waitUntil: "load" });
const height = await page.evaluate(() => Math.ceil(document.querySelector(".plots").getBoundingClientRect().bottom) + 24);
await page.screenshot({ path: picture, fullPage: true, clip: { x: 0, y: 0, width: 1180, height } });
await browser.close();
