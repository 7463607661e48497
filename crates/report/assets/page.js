// Draws the plots of a page of runs from the data in its element `data`. Names in the data come from outside: they reach the page as
// text only, through esc() where a tooltip wants HTML.
"use strict";
(() => {
  const { PAPER_WIDTH, HUES, SYMBOLS, isPrinting, esc, narrow, theme, textWidth, wrapped, figures, base, start, keyOf, shaded, inkOn, drawBy } = frame;
  const { drawBars } = bars;
  const data = JSON.parse(document.getElementById("data").textContent);
  const BASELINE = "#8a8f96";
  const others = data.policies.map((_, policy) => policy).filter((policy) => policy !== data.baseline);

  function color(policy) {
    if (policy === data.baseline) return BASELINE;
    return HUES[others.indexOf(policy) % HUES.length];
  }

  // Beyond the colours that there are, policies are told apart by stripes.
  function decal(policy) {
    const round = Math.floor(Math.max(0, others.indexOf(policy)) / HUES.length);
    if (round === 0) return undefined;
    return { symbol: "rect", rotation: (round * Math.PI) / 4, dashArrayX: [1, 0], dashArrayY: [2, 3], color: "rgba(255,255,255,.6)" };
  }

  function symbol(policy) {
    // Another mark each time that the colours begin anew.
    const number = others.indexOf(policy);
    return policy === data.baseline ? "emptyDiamond" : SYMBOLS[(number + Math.floor(number / HUES.length)) % SYMBOLS.length];
  }

  const point = (group, policy) => data.points.find((at) => at.group === group && at.policy === policy);

  const mean = (values) => (values.length ? Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length) : null);

  // Half of the paper for figures that stand beside each other.
  const paperOf = (element) => (element.closest(".plots").children.length > 1 ? Math.floor(PAPER_WIDTH / 2) - 10 : PAPER_WIDTH);

  // Half of the 95 % interval of a mean over seeds, as a part of the mean; 0 of a single run.
  const doubt = (at, measure) => (at?.within?.[measure] ?? 0) / Math.abs(at?.[measure] || 1);

  // Bars by workload, and the geometric mean of ratios; of a single workload by policy. `value` is of a policy's point and the baseline's,
  // `wanted` says which workloads the measure applies to, `measure` names what has an interval.
  function byWorkload(element, { title, value, wanted, isRatio, measure }) {
    const groups = data.groups.map((_, group) => group).filter((group) => wanted(data.groups[group]));
    const policies = isRatio ? others : data.policies.map((_, policy) => policy);
    const of = (group, policy) => {
      const [one, other] = [point(group, data.baseline), point(group, policy)];
      const found = other && (one || !isRatio) ? value(other, one) : null;
      return Number.isFinite(found) && (found > 0 || !isRatio) ? found : null;
    };
    // The doubts of a ratio add up: where the interval holds 1, the two are not told apart.
    const within = (group, policy) => {
      const found = of(group, policy);
      const both = doubt(point(group, policy), measure) + (isRatio ? doubt(point(group, data.baseline), measure) : 0);
      return found === null ? 0 : found * both;
    };
    const shared = { title, line: isRatio ? 1 : undefined, paper: paperOf(element), bySeries: true };
    if (groups.length === 1) {
      const shown = policies.filter((policy) => of(groups[0], policy) !== null);
      const series = [{ name: "", values: shown.map((policy) => of(groups[0], policy)), within: shown.map((policy) => within(groups[0], policy)), colors: shown.map(color), decals: shown.map(decal) }];
      drawBars(element, { ...shared, names: shown.map((policy) => data.policies[policy]), series });
      return;
    }
    const names = groups.map((group) => data.groups[group].name);
    const series = policies.map((policy) => {
      const values = groups.map((group) => of(group, policy));
      const all = isRatio ? [...values, mean(values.filter((at) => at !== null))] : values;
      const each = groups.map((group) => within(group, policy));
      const parts = each.map((half, at) => half / values[at]).filter(Number.isFinite);
      const ofMean = (all.at(-1) * parts.reduce((sum, part) => sum + part, 0)) / (parts.length || 1);
      return { name: data.policies[policy], color: color(policy), decal: decal(policy), values: all, within: isRatio ? [...each, ofMean] : each };
    });
    // More policies than there are colours are told apart by name.
    const called = others.length > HUES.length;
    drawBars(element, { ...shared, names: isRatio ? [...names, "geometric mean"] : names, bold: isRatio ? names.length : -1, series, called });
  }

  function fairness(element) {
    const { axis, ...options } = base();
    const asp = data.points.some((at) => at.asp !== null);
    const x = (at) => (asp ? at.asp : at.stp);
    const shown = data.points.filter((at) => at.unfairness !== null && x(at) !== null);
    const isNamed = shown.length <= 10;
    // Points that lie on each other stand side by side, and the first has all their names.
    const span = (of) => Math.max(...shown.map(of)) - Math.min(...shown.map(of)) || 1;
    const isNear = (a, b) => Math.abs(x(a) - x(b)) < span(x) * 0.03 && Math.abs(a.unfairness - b.unfairness) < span((at) => at.unfairness) * 0.05;
    const heaps = [];
    for (const at of shown) {
      const heap = heaps.find(([first]) => isNear(first, at));
      if (heap) heap.push(at);
      else heaps.push([at]);
    }
    const width = isPrinting() ? PAPER_WIDTH : element.clientWidth;
    const named = (heap) => wrapped(heap.map((at) => data.policies[at.policy]).join(", "), width * 0.3, 2);
    const items = heaps.flatMap((heap) => heap.map((at, place) => ({
      policy: at.policy,
      value: [x(at), at.unfairness],
      group: at.group,
      symbolOffset: [place * 8, 0],
      label: { show: isNamed && place === 0, formatter: () => named(heap).join("\n"), distance: 5 + 8 * (heap.length - 1) },
    })));
    const room = isNamed ? Math.max(...heaps.map((heap) => Math.max(...named(heap).map((line) => textWidth(line))) + 8 * heap.length)) + 14 : 14;
    const series = data.policies.map((name, policy) => ({
      type: "scatter",
      name,
      symbol: symbol(policy),
      symbolSize: 11,
      itemStyle: { color: color(policy), opacity: 0.85 },
      label: { position: "right", color: theme().ink, textBorderColor: theme().paper, textBorderWidth: 3, fontSize: 12, lineHeight: 15 },
      labelLayout: { hideOverlap: true },
      data: items.filter((at) => at.policy === policy),
    }));
    start(element, narrow() || isPrinting() ? 320 : 380, "svg").setOption({
      ...options,
      grid: { left: 62, right: room, top: 20, bottom: 46 },
      xAxis: { ...axis, axisLabel: { ...axis.axisLabel, alignMinLabel: "left", alignMaxLabel: "right" }, boundaryGap: ["5%", "5%"], type: "value", scale: true, name: asp ? "ASP (more is better →)" : "STP (more is better →)", nameLocation: "middle", nameGap: 28 },
      yAxis: { ...axis, boundaryGap: ["10%", "5%"], type: "value", scale: true, name: "unfairness (← less is better)", nameLocation: "middle", nameGap: 42 },
      tooltip: {
        ...options.tooltip,
        formatter: (at) =>
          `<b>${esc(at.seriesName)}</b><br>${esc(data.groups[at.data.group].name)}<br>` +
          `${asp ? "ASP" : "STP"} <b>${figures(at.value[0])}</b>, unfairness <b>${figures(at.value[1])}</b>`,
      },
      series: [...series, crosses(shown, x, asp ? "asp" : "stp")],
    });
  }

  // The 95 % intervals of points, across and upright.
  function crosses(shown, x, measure) {
    const rows = shown.filter((at) => at.within).map((at) => {
      const [dx, dy] = [at.within[measure] ?? 0, at.within.unfairness ?? 0];
      return [x(at) - dx, x(at) + dx, at.unfairness - dy, at.unfairness + dy, x(at), at.unfairness, at.policy];
    });
    const renderItem = (_, api) => {
      const [left, right, low, high, cx, cy, policy] = [0, 1, 2, 3, 4, 5, 6].map((place) => api.value(place));
      const [[x1, y1], [x2, y2], [mx, my]] = [api.coord([left, low]), api.coord([right, high]), api.coord([cx, cy])];
      const line = (from, to) => ({ type: "line", shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: color(policy), lineWidth: 1.5, opacity: 0.6 } });
      return { type: "group", children: [line([x1, my], [x2, my]), line([mx, y1], [mx, y2])] };
    };
    return { type: "custom", silent: true, z: 1, data: rows, encode: { x: [0, 1], y: [2, 3] }, renderItem };
  }

  const chosen = (name) => Number(document.querySelector(`[data-choice="${name}"]`)?.value ?? NaN);

  function kinds(element) {
    const { kinds: shades, ink } = theme();
    const { axis, ...options } = base();
    const group = chosen("kinds");
    const of = (policy) => data.points.filter((at) => at.policy === policy && (!(group >= 0) || at.group === group));
    // Added up, only policies that ran all workloads can be compared.
    const wanted = group >= 0 ? 1 : Math.max(...data.policies.map((_, policy) => of(policy).length));
    const policies = data.policies.map((_, policy) => policy).filter((policy) => of(policy).length === wanted);
    const total = (policy, kind, part) => of(policy).reduce((sum, at) => sum + (at.kinds[kind]?.[part] ?? 0), 0);
    const used = data.kinds.map((_, kind) => kind).filter((kind) => policies.some((policy) => total(policy, kind, 0) + total(policy, kind, 1) > 0));
    const busy = (policy, kind) => {
      const [worked, idle] = [total(policy, kind, 0), total(policy, kind, 1)];
      return worked + idle > 0 ? `${Math.round((100 * worked) / (worked + idle))} % busy` : "";
    };
    const labels = policies.map((policy) => wrapped(data.policies[policy], 0.35 * (isPrinting() ? PAPER_WIDTH : element.clientWidth)));
    const labelWidth = Math.max(...labels.flat().map((text) => textWidth(text)));
    const series = used.flatMap((kind, place) => {
      const shade = shades[Math.min(place, shades.length - 1)];
      const bar = (part, style) => ({
        type: "bar",
        stack: String(kind),
        name: `${data.kinds[kind]} ${part ? "idle" : "busy"}`,
        data: policies.map((policy) => total(policy, kind, part)),
        barMaxWidth: 18,
        barGap: "15%",
        barCategoryGap: "30%",
        itemStyle: style,
        // The idle part ends where both do.
        label: { show: part === 1, position: "right", formatter: ({ dataIndex: at }) => busy(policies[at], kind), color: ink, fontSize: 10 },
      });
      return [
        bar(0, { color: shade, borderColor: shade, borderWidth: 1 }),
        bar(1, { color: `${shade}38`, borderColor: shade, borderWidth: 1 }),
      ];
    });
    start(element, 92 + policies.length * (used.length * 16 + 10), "svg").setOption({
      ...options,
      grid: { left: labelWidth + 12, right: 66, top: 8, bottom: 46 },
      xAxis: { ...axis, type: "value", name: "core-seconds", nameLocation: "middle", nameGap: 28 },
      yAxis: {
        ...axis,
        type: "category",
        inverse: true,
        data: policies.map((policy) => data.policies[policy]),
        axisLabel: { ...axis.axisLabel, interval: 0, hideOverlap: false, margin: 6, lineHeight: 14, formatter: (_, at) => labels[at].join("\n") },
        splitLine: { show: false },
      },
      tooltip: {
        ...options.tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (bars) => {
          const policy = policies[bars[0].dataIndex];
          const lines = used.map((kind) => {
            const [busy, idle] = [total(policy, kind, 0), total(policy, kind, 1)];
            return `${esc(data.kinds[kind])}: <b>${figures(busy)} s</b> busy, ${figures(idle)} s idle (${figures((100 * busy) / (busy + idle))} % busy)`;
          });
          return [`<b>${esc(data.policies[policy])}</b>`, ...lines].join("<br>");
        },
      },
      series,
    });
    const key = used.flatMap((kind, place) => {
      const shade = shades[Math.min(place, shades.length - 1)];
      return [
        { label: `${data.kinds[kind]} busy`, style: `background:${shade}` },
        { label: `${data.kinds[kind]} idle`, style: `background:${shade}38;outline:1px solid ${shade}` },
      ];
    });
    element.parentElement.querySelector(".key")?.remove();
    element.before(keyOf(key));
  }

  function timelines(element) {
    element.replaceChildren();
    const choice = chosen("timeline");
    const group = Number.isNaN(choice) ? data.timelines[0].group : choice;
    const shown = data.timelines.filter((timeline) => timeline.group === group);
    const byApp = shown.some((timeline) => new Set(timeline.threads.map((thread) => thread[1])).size > 1);
    // One colour a name, the same in every lane and policy.
    const names = [];
    const nameOf = (timeline, [name, app]) => (byApp ? (timeline.apps[app] ?? `application ${app}`) : name);
    for (const timeline of shown) {
      for (const thread of timeline.threads) {
        const name = nameOf(timeline, thread);
        if (!names.includes(name)) names.push(name);
      }
    }
    const fills = new Map(names.map((name, number) => [name, shaded(number)]));
    element.append(keyOf(names.map((name) => ({ label: name, style: `background:${fills.get(name)}` })), narrow() ? 12 : 24));
    const end = Math.max(...shown.map((timeline) => timeline.end * timeline.tick_s));
    const made = shown.map((timeline, place) => lanes(element, timeline, end, place === shown.length - 1, (thread) => fills.get(nameOf(timeline, thread))));
    made.forEach((chart) => (chart.group = "timelines"));
    echarts.connect("timelines");
  }

  function lanes(element, timeline, end, last, fillOf) {
    const { axis, ...options } = base();
    const box = document.createElement("div");
    box.className = "lanes";
    const title = document.createElement("b");
    title.append(data.policies[timeline.policy]);
    const place = document.createElement("div");
    box.append(title, place);
    element.append(box);

    const count = timeline.lanes.length;
    const lane = Math.max(3, Math.min(isPrinting() ? 13 : 19, Math.floor(480 / count)));
    const unit = end < 2e-3 ? ["µs", 1e6] : end < 2 ? ["ms", 1e3] : ["s", 1];
    const ticks = timeline.tick_s * unit[1];
    const rows = [];
    timeline.stretches.forEach((flat, on) => {
      let from = 0;
      for (let at = 0; at < flat.length; at += 3) {
        from += flat[at + 1];
        const to = from + flat[at + 2];
        rows.push([from * ticks, to * ticks, on, flat[at]]);
        from = to;
      }
    });
    const fills = timeline.threads.map(fillOf);
    const inks = fills.map(inkOn);
    const draw = (params, api) => {
      const thread = api.value(3);
      const [x, y] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const height = Math.max(1, api.size([0, 1])[1] * (lane > 8 ? 0.82 : 1));
      const { x: left, y: top, width, height: tall } = params.coordSys;
      const rect = { x, y: y - height / 2, width: Math.max(0.6, right - x), height };
      const shape = echarts.graphic.clipRectByRect(rect, { x: left, y: top, width, height: tall });
      if (!shape) return undefined;
      const gap = shape.width > 6 ? 0.7 : 0;
      const item = { type: "rect", shape: { ...shape, width: shape.width - gap }, style: { fill: fills[thread] } };
      const name = timeline.threads[thread][0];
      if (lane > 11 && shape.width > 6.5 * name.length + 8) {
        item.textContent = { type: "text", silent: true, style: { text: name, fill: inks[thread], fontSize: 11 } };
        item.textConfig = { position: "inside" };
      }
      return item;
    };
    const labels = timeline.lanes.map((label) => (narrow() ? label.replace(/^core /, "") : label));
    const labelWidth = Math.min(Math.max(...labels.map((label) => textWidth(label, 11))), narrow() ? 120 : 240);
    const left = labelWidth + 8;
    const height = count * lane + (last ? 84 : 30);
    const chart = start(place, height, "canvas");
    const touch = matchMedia("(pointer: coarse)").matches;
    const zooms = [{ type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: !touch, zoomLock: false, preventDefaultMouseMove: false, throttle: 30 }];
    if (last && !isPrinting()) {
      place.dataset.slider = left + 6;
      zooms.push({ type: "slider", filterMode: "weakFilter", bottom: 4, height: 22, showDataShadow: false, brushSelect: false, labelFormatter: (value) => `${figures(value)} ${unit[0]}`, textStyle: { color: theme().ink }, left: left + 6, right: 60 });
    } else {
      zooms.push({ type: "slider", show: false, filterMode: "weakFilter" });
    }
    chart.setOption({
      ...options,
      grid: { left, right: 18, top: 4, height: count * lane },
      xAxis: {
        ...axis,
        type: "value",
        min: 0,
        max: end * unit[1],
        name: last ? `time (${unit[0]})` : "",
        nameLocation: "middle",
        nameGap: 24,
        axisLabel: { ...axis.axisLabel, showMaxLabel: false },
        splitLine: { show: false },
        axisTick: { show: true },
      },
      yAxis: {
        ...axis,
        type: "category",
        inverse: true,
        data: labels,
        axisLine: { show: false },
        axisLabel: { ...axis.axisLabel, interval: lane < 12 ? "auto" : 0, margin: 6, fontSize: 11, width: labelWidth, overflow: "truncate" },
        splitLine: { show: false },
      },
      dataZoom: zooms,
      tooltip: {
        ...options.tooltip,
        formatter: ({ value: [from, to, on, thread] }) => {
          const [name, app] = timeline.threads[thread];
          const about = timeline.column_s ? ", among others" : "";
          return (
            `<b>${esc(name)}</b>${about}<br>${esc(timeline.apps[app] ?? "")}<br>${esc(timeline.lanes[on])}<br>` +
            `${figures(from)} to ${figures(to)} ${unit[0]} (${figures(to - from)} ${unit[0]})`
          );
        },
      },
      series: [{ type: "custom", renderItem: draw, encode: { x: [0, 1], y: 2 }, data: rows, clip: true, progressive: 0 }],
    });
    return chart;
  }

  const [isFree, isTimed] = [({ timed }) => !timed, ({ timed }) => timed];
  const ratio = (title, measure, value, wanted = () => true) => (element) => byWorkload(element, { title, value, wanted, measure, isRatio: true });
  const latency = (title, measure) => (element) => byWorkload(element, { title, value: (of) => of[measure], wanted: isTimed, measure, isRatio: false });
  const PLOTS = {
    speedup: ratio("speedup", "time_s", (other, one) => one.time_s / other.time_s, isFree),
    energy: ratio("relative energy", "energy_j", (other, one) => other.energy_j / one.energy_j),
    edp: ratio("relative EDP", "edp_js", (other, one) => other.edp_js / one.edp_js, isFree),
    missed: latency("missed deadlines, %", "missed_percent"),
    "wake-p99": latency("latency, µs", "wake_p99_us"),
    "wake-max": latency("latency, µs", "wake_max_us"),
    fairness,
    kinds,
    timeline: timelines,
  };

  function draw() {
    for (const element of document.querySelectorAll("[data-plot]")) PLOTS[element.dataset.plot](element);
    for (const swatch of document.querySelectorAll("[data-policy]")) {
      const policy = Number(swatch.dataset.policy);
      const stripes = decal(policy) ? ", repeating-linear-gradient(45deg, #fff9 0 2px, transparent 2px 5px)" : "";
      swatch.style.background = stripes ? stripes.slice(2) : "";
      swatch.style.backgroundColor = color(policy);
    }
  }

  drawBy(draw);
})();
