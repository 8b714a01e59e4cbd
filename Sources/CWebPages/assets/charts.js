/**
 * Chart.js for series over time. It has no scale of time without an adapter, so the scale is linear
 * over milliseconds, and its ticks are made and written here.
 */
import {addDays, dated, dayOf, number, startOfDay, zoneOffset} from "./format.js";
import {longestBridge, seriesUnit} from "./series.js";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Loads the library only for a page that draws with it. */
async function library() {
    await import("./chart.js");
    return globalThis.Chart;
}

const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Ticks at whole minutes, hours, days, months or years of the account's zone. */
function ticksFor(from, to, most) {
    const least = (to - from) / most;
    const hours =
        [minute, 5 * minute, 15 * minute, 30 * minute, hour, 3 * hour, 6 * hour, 12 * hour].find(
            (step) => step >= least);
    const ticks = [];
    if (hours) {
        const shift = zoneOffset(from);
        for (let at = Math.ceil((from + shift) / hours) * hours - shift; at <= to; at += hours)
            ticks.push(at);
        return {
            ticks,
            write: (at) => (at + shift) % day === 0
                ? dated(at, {day: "numeric", month: "short"})
                : dated(at, {hour: "numeric", minute: "2-digit"})
        };
    }
    const days = [1, 2, 7, 14].find((step) => step * day >= least);
    if (days) {
        // Days are counted from the epoch, so that ticks stay where they are while the chart moves.
        const first = Math.ceil(Date.parse(dayOf(from)) / day / days) * days * day;
        for (let name = new Date(first).toISOString().slice(0, 10); startOfDay(name) <= to;
            name = addDays(name, days)) {
            if (startOfDay(name) >= from) ticks.push(startOfDay(name));
        }
        return {ticks, write: (at) => dated(at, {day: "numeric", month: "short"})};
    }
    const months = [1, 3, 6, 12, 24, 60].find((step) => step * 30 * day >= least) ?? 120;
    const [year, month] = dayOf(from).split("-").map(Number);
    for (let at = Math.ceil((year * 12 + month - 1) / months) * months;; at += months) {
        const instant =
            startOfDay(`${Math.floor(at / 12)}-${String(at % 12 + 1).padStart(2, "0")}-01`);
        if (instant > to) break;
        if (instant >= from) ticks.push(instant);
    }
    return {
        ticks,
        write: (at) => months >= 12 ? dated(at, {year: "numeric"})
                                    : dated(at, {month: "short", year: "numeric"})
    };
}

/** The points of a line; a long gap breaks it. */
function line(series, part) {
    const bridge = longestBridge(series);
    const points = [];
    let last = -Infinity;
    for (const point of series.points) {
        if (point.x - last > bridge && points.length > 0)
            points.push({x: (point.x + last) / 2, y: NaN});
        points.push({x: point.x, y: point[part]});
        last = point.x;
    }
    return points;
}

function datasets(series, second) {
    const strong = second ? colour("ink") : colour("accent");
    const soft = second ? "transparent" : colour("accent-soft");
    const common = {
        parsing: false,
        normalized: true,
        yAxisID: second ? "second" : "y",
        pointHitRadius: 8,
        // The line stands before the bars.
        order: second ? 0 : 1
    };
    const name = series.kind.title;
    if (series.kind.isSum && series.resolution !== "month" && !second) {
        return [{
            ...common,
            type: "bar",
            label: name,
            data: series.points.map(({x, mean}) => ({x, y: mean})),
            backgroundColor: colour("accent-mid"),
            barPercentage: 0.82,
            categoryPercentage: 1,
            minBarLength: 1
        }];
    }
    const single = series.resolution === "raw";
    const dots = series.points.length <= 300 && single ? 2 : 0;
    const mean = {
        ...common,
        type: "line",
        label: name,
        data: line(series, "mean"),
        borderColor: strong,
        backgroundColor: strong,
        borderWidth: 1.6,
        borderDash: second ? [5, 3] : [],
        pointRadius: dots
    };
    if (single || second) return [mean];
    const edge = {
        ...common,
        type: "line",
        borderWidth: 0,
        pointRadius: 0,
        pointHitRadius: 0,
        backgroundColor: soft
    };
    return [
        mean, {...edge, label: "greatest", data: line(series, "max"), fill: "+1"},
        {...edge, label: "least", data: line(series, "min")}
    ];
}

/** The bucket at an instant, in words. */
function titleOf(instant, resolution) {
    if (resolution === "day") return dated(instant, {dateStyle: "medium"});
    if (resolution === "month") return dated(instant, {month: "long", year: "numeric"});
    return dated(instant, {dateStyle: "medium", timeStyle: "short"});
}

/**
 * Makes a chart on a canvas.
 *
 * @param {HTMLCanvasElement} canvas
 * @returns {Promise<{show(series: import("./series.js").Series[], from: number, to: number): void,
 *     move(from: number, to: number): void, area(): {left: number, right: number}, close(): void}>}
 */
export async function timeChart(canvas) {
    const Chart = await library();
    let write = (value) => String(value);
    let shown = [];
    const axis = (position) => ({
        position,
        border: {display: false},
        display: "auto",
        ticks:
            {maxTicksLimit: 6, color: () => colour("muted"), callback: (value) => number(value, 2)},
        grid:
            {color: () => colour("line"), drawBorder: false, drawOnChartArea: position === "left"},
        title: {display: true, color: () => colour("muted")},
    });
    const chart = new Chart(canvas, {
        data: {datasets: []},
        options: {
            animation: false,
            responsive: true,
            maintainAspectRatio: false,
            events: ["mousemove", "mouseout"],
            interaction: {mode: "nearest", axis: "x", intersect: false},
            scales: {
                x: {
                    type: "linear",
                    offset: false,
                    grid: {display: false, drawBorder: false},
                    ticks: {
                        autoSkip: false,
                        maxRotation: 0,
                        color: () => colour("muted"),
                        callback: (value) => write(value)
                    },
                    afterBuildTicks: (scale) => {
                        const made = ticksFor(scale.min, scale.max, Math.max(3, scale.width / 105));
                        write = made.write;
                        scale.ticks = made.ticks.map((value) => ({value}));
                    }
                },
                y: axis("left"),
                second: axis("right"),
            },
            plugins: {
                legend: {display: false},
                tooltip: {
                    displayColors: false,
                    callbacks: {
                        title: ([item]) => titleOf(item.parsed.x, shown[0]?.resolution),
                        label: (item) => `${item.dataset.label} ${number(item.parsed.y)}`,
                    }
                },
            },
        },
    });
    const move = (from, to) => {
        Object.assign(chart.options.scales.x, {min: from, max: to});
        chart.update("none");
        performance.mark("chart drawn");
    };
    const show = (series, from, to) => {
        shown = series;
        chart.data.datasets = series.flatMap((one, index) => datasets(one, index > 0));
        series.forEach((one, index) => {
            const title = chart.options.scales[index > 0 ? "second" : "y"].title;
            const unit = seriesUnit(one.kind);
            title.text = `${one.kind.title}${unit ? `, ${unit}` : ""}`;
            // A phone has no room for it, and the line above the chart says it too.
            title.display = canvas.clientWidth > 500;
        });
        chart.options.scales.y.beginAtZero = series.length > 0 && series[0].kind.isSum;
        move(from, to);
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => show(shown, chart.options.scales.x.min, chart.options.scales.x.max);
    scheme.addEventListener("change", recolour);
    return {
        show,
        move,
        area: () => chart.chartArea,
        close: () => {
            scheme.removeEventListener("change", recolour);
            chart.destroy();
        }
    };
}
