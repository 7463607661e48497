// Draws the plots of a page of runs from the data in its element `data`. Names in the data come from outside: they reach the page as
// text only, through esc() where a tooltip wants HTML.
"use strict";
(() => {
  const { PAPER_WIDTH, HUES, SYMBOLS, isPrinting, esc, short, narrow, theme, figures, base, start, keyOf, shaded, inkOn, drawBy } = frame;
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
    return policy === data.baseline ? "emptyCircle" : SYMBOLS[others.indexOf(policy) % SYMBOLS.length];
  }

  const point = (group, policy) => data.points.find((at) => at.group === group && at.policy === policy);

  // Ratios to the baseline: bars by workload, then their geometric mean.
  function ratios(element, name, ratio) {
    const { ink, soft } = theme();
    const { axis, ...options } = base();
    const groups = data.groups.map((_, group) => group);
    const rows = others.map((policy) => {
      const values = groups.map((group) => {
        const [one, other] = [point(group, data.baseline), point(group, policy)];
        const value = one && other ? ratio(one, other) : null;
        return Number.isFinite(value) && value > 0 ? value : null;
      });
      const known = values.filter((value) => value !== null);
      const mean = known.length ? Math.exp(known.reduce((sum, value) => sum + Math.log(value), 0) / known.length) : null;
      return groups.length > 1 ? [...values, mean] : values;
    });
    const full = data.groups.map((group) => group.name);
    if (groups.length > 1) full.push("geometric mean");
    // "geometric mean" takes two lines where labels stand side by side.
    const letters = Math.max(9, ...data.groups.map((group) => group.name.length));
    const width = isPrinting() ? PAPER_WIDTH : element.clientWidth;
    const sideways = narrow() || full.length * Math.min(letters, 18) * 7 > width || full.length * others.length * 7 > width;
    const labels = full.map((label) => short(label, narrow() ? 14 : 24));
    const categories = {
      ...axis,
      type: "category",
      data: labels,
      inverse: sideways,
      splitLine: { show: false },
      axisLabel: {
        ...axis.axisLabel,
        interval: 0,
        hideOverlap: false,
        formatter: (label, index) => {
          if (index < groups.length) return label;
          return sideways ? `{mean|${label}}` : label.split(" ").map((word) => `{mean|${word}}`).join("\n");
        },
        rich: { mean: { fontWeight: 600, color: ink, fontSize: 12, lineHeight: 15 } },
      },
    };
    // The dashed line at 1 is always there, and on a line of the grid.
    const most = Math.max(1, ...rows.flat());
    const interval = most <= 1.5 ? 0.25 : most <= 4 ? 0.5 : most <= 8 ? 1 : undefined;
    const max = interval && Math.ceil((most * 1.02) / interval) * interval;
    const values = { ...axis, type: "value", min: 0, max, interval, name, nameLocation: "middle", nameGap: sideways ? 28 : 40 };
    const line = {
      silent: true,
      symbol: "none",
      animation: false,
      lineStyle: { color: soft, type: "dashed", width: 1.5 },
      label: { show: false },
      data: [sideways ? { xAxis: 1 } : { yAxis: 1 }],
    };
    const height = sideways ? 62 + full.length * (others.length * (others.length > 5 || isPrinting() ? 8 : 11) + (isPrinting() ? 8 : 12)) : isPrinting() ? 190 : 270;
    start(element, height, "svg").setOption({
      ...options,
      grid: sideways
        ? { left: 4, right: 16, top: 6, bottom: 28, containLabel: true }
        : { left: 42, right: 8, top: 12, bottom: 4, containLabel: true },
      xAxis: sideways ? values : categories,
      yAxis: sideways ? categories : values,
      tooltip: {
        ...options.tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (bars) => {
          const at = bars[0].dataIndex;
          const lines = bars.map((bar) => `${bar.marker}${esc(bar.seriesName)}: <b>${bar.value == null ? "–" : figures(bar.value)}</b>`);
          return [`<b>${esc(full[at])}</b>`, ...lines].join("<br>");
        },
      },
      series: others.map((policy, row) => ({
        type: "bar",
        name: data.policies[policy],
        data: rows[row],
        barMaxWidth: 34,
        barGap: "8%",
        barCategoryGap: "24%",
        itemStyle: { color: color(policy), decal: decal(policy) },
        markLine: row === 0 ? line : undefined,
      })),
    });
  }

  function fairness(element) {
    const { axis, ...options } = base();
    const asp = data.points.some((at) => at.asp !== null);
    const x = (at) => (asp ? at.asp : at.stp);
    const shown = data.points.filter((at) => at.unfairness !== null && x(at) !== null);
    const series = data.policies.map((name, policy) => ({
      type: "scatter",
      name,
      symbol: symbol(policy),
      symbolSize: 11,
      itemStyle: { color: color(policy), opacity: 0.9 },
      label: { show: shown.length <= 10 && !narrow(), formatter: () => short(name, 14), position: "right", color: theme().ink, fontSize: 12 },
      labelLayout: { hideOverlap: true },
      data: shown.filter((at) => at.policy === policy).map((at) => ({ value: [x(at), at.unfairness], group: at.group })),
    }));
    start(element, narrow() || isPrinting() ? 320 : 400, "svg").setOption({
      ...options,
      grid: { left: 42, right: shown.length <= 10 && !narrow() ? 110 : 14, top: 14, bottom: 26, containLabel: true },
      xAxis: { ...axis, type: "value", scale: true, name: asp ? "ASP (more is better →)" : "STP (more is better →)", nameLocation: "middle", nameGap: 28 },
      yAxis: { ...axis, type: "value", scale: true, name: "unfairness (← less is better)", nameLocation: "middle", nameGap: 42 },
      tooltip: {
        ...options.tooltip,
        formatter: (at) =>
          `<b>${esc(at.seriesName)}</b><br>${esc(data.groups[at.data.group].name)}<br>` +
          `${asp ? "ASP" : "STP"} <b>${figures(at.value[0])}</b>, unfairness <b>${figures(at.value[1])}</b>`,
      },
      series,
    });
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
      });
      return [
        bar(0, { color: shade, borderColor: shade, borderWidth: 1 }),
        bar(1, { color: shade, opacity: 0.22, borderColor: shade, borderWidth: 1 }),
      ];
    });
    start(element, 92 + policies.length * (used.length * 16 + 10), "svg").setOption({
      ...options,
      grid: { left: 4, right: 22, top: 8, bottom: 30, containLabel: true },
      xAxis: { ...axis, type: "value", name: "core-seconds", nameLocation: "middle", nameGap: 28 },
      yAxis: {
        ...axis,
        type: "category",
        inverse: true,
        data: policies.map((policy) => short(data.policies[policy], narrow() ? 14 : 28)),
        axisLabel: { ...axis.axisLabel, interval: 0, hideOverlap: false },
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
    const height = count * lane + (last ? 84 : 30);
    const chart = start(place, height, "canvas");
    const touch = matchMedia("(pointer: coarse)").matches;
    const zooms = [{ type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: !touch, zoomLock: false, preventDefaultMouseMove: false, throttle: 30 }];
    if (last && !isPrinting()) {
      zooms.push({ type: "slider", filterMode: "weakFilter", bottom: 4, height: 22, showDataShadow: false, brushSelect: false, labelFormatter: (value) => `${figures(value)} ${unit[0]}`, textStyle: { color: theme().ink }, left: narrow() ? 60 : 110, right: 60 });
    } else {
      zooms.push({ type: "slider", show: false, filterMode: "weakFilter" });
    }
    chart.setOption({
      ...options,
      grid: { left: narrow() ? 68 : 104, right: 18, top: 4, height: count * lane },
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
        axisLabel: { ...axis.axisLabel, interval: lane < 12 ? "auto" : 0, fontSize: 11, width: narrow() ? 60 : 96, overflow: "truncate" },
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

  const PLOTS = {
    speedup: (element) => ratios(element, "speedup", (one, other) => one.time_s / other.time_s),
    energy: (element) => ratios(element, "relative energy", (one, other) => other.energy_j / one.energy_j),
    edp: (element) => ratios(element, "relative EDP", (one, other) => other.edp_js / one.edp_js),
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
