/**
 * The timeline of jobs: the last and the next 48 hours, a row for each job.
 */
import {h, svg} from "./dom.js";
import {clockTime, count, dated, dayOf, dayTime, startOfDay} from "./format.js";
import {localTimes, runLength, stateText} from "./runs.js";

export const hours = 48;
const reach = hours * 3_600_000;

/**
 * @param {string[]} jobs
 * @param {any[]} runs of the last 48 hours
 * @param {{job: string, at: string}[]} occurrences of the next 48 hours
 * @param {any[]} missed occurrences of the last 48 hours that started no run
 * @param {number} now
 */
export function timeline(jobs, runs, occurrences, missed, now) {
    const place = (instant) => 50 + 50 * (instant - now) / reach;
    const label = "Timeline of jobs; the tables below have the same runs and missed starts";
    const row = (job) => h("div", {class: "line-row"},
        h("span", {class: "line-name"}, job),
        svg("svg", {width: "100%", height: 26, "aria-hidden": "true"},
            svg("line", {class: "rail", x1: 0, x2: "100%", y1: 13, y2: 13}),
            svg("line", {class: "now", x1: "50%", x2: "50%", y1: 0, y2: 26}),
            missed.filter((one) => one.job === job).map((one) => missedMark(one, place)),
            runs.filter((run) => run.job === job).map((run) => marksOf(run, now, place)),
            dueMarks(occurrences.filter((one) => one.job === job), place)));
    return h("div", {class: "timeline", role: "group", "aria-label": label},
        h("div", {class: "line-row", "aria-hidden": "true"}, h("span"), days(now, place)),
        jobs.map(row));
}

/** Rings, or dots where a job is due so often that rings would touch. */
function dueMarks(occurrences, place) {
    const dense = occurrences.length > 30;
    const style = dense ? {class: "due dense", r: 1.2} : {class: "due", r: 3};
    return occurrences.map((one) => svg("circle",
        {...style, cx: `${place(Date.parse(one.at))}%`, cy: 13},
        svg("title", null, `due ${dayTime(one.at)}`)));
}

/** A dashed box around occurrences in a row that started no run, or a small one around a single. */
function missedMark(missed, place) {
    const [first, latest] = [missed.first_at, missed.latest_at].map((at) => Date.parse(at));
    const [from, to] = [first, latest].map((at) => Math.max(0, place(at)));
    const when = first === latest ? dayTime(first) : `${dayTime(first)} to ${dayTime(latest)}`;
    const at = to - from < 0.8
        ? {x: `${to}%`, width: 7, transform: "translate(-3.5 0)"}
        : {x: `${from}%`, width: `${to - from}%`};
    return svg("rect", {class: "missed", y: 9.5, height: 7, ...at},
        svg("title", null, `${count(missed.occurrences, "missed start")}, ${when}: `
            + localTimes(missed.words)));
}

/** The wait before a run as a thin bar, and the run itself; a skipped one is hollow. */
function marksOf(run, now, place) {
    const due = Date.parse(run.scheduled_for);
    const started = run.started_at ? Date.parse(run.started_at) : null;
    const ended = run.finished_at ? Date.parse(run.finished_at) : now;
    const from = Math.max(0, place(due));
    const begin = place(started ?? ended);
    const words = `run ${run.run}, ${stateText(run.state)}, due ${dayTime(due)}`
        + (started === null ? "" : `, started ${clockTime(started)}, took ${runLength(run)}`);
    const waited = (started ?? ended) - due > 60_000
        ? svg("rect", {class: "waited", x: `${from}%`, y: 11, height: 4,
            width: `${Math.max(0, begin - from)}%`}) : null;
    const at = Math.max(0, begin);
    const mark = started === null
        ? svg("circle", {class: `run ${run.state}`, cx: `${at}%`, cy: 13, r: 4.5})
        : svg("rect", {class: `run ${run.state}`, x: `${at}%`, y: 5, height: 16, rx: 2,
            width: `${Math.max(0.45, place(ended) - at)}%`});
    return [
        waited, svg("a", {href: `/runs/${run.run}`, tabindex: -1}, svg("title", null, words), mark)
    ];
}

/** The days of the timeline, each at its midnight, and the present. */
function days(now, place) {
    const axis = h("div", {class: "axis"});
    const put = (instant, text, name) => {
        const mark = h("span", {class: name}, text);
        mark.style.setProperty("left", `${place(instant)}%`);
        axis.append(mark);
    };
    for (let shift = -2; shift <= 2; shift += 1) {
        const midnight = startOfDay(dayOf(now + shift * 86_400_000));
        if (Math.abs(place(midnight) - 50) < 45 && Math.abs(place(midnight) - 50) > 6) {
            put(midnight, dated(midnight, {weekday: "short", day: "numeric"}));
        }
    }
    put(now, "now", "present");
    return axis;
}

/** What the marks mean. */
export const timelineKey = () => h("ul", {class: "key", "aria-hidden": "true"},
    [
        ["run succeeded", "ran"], ["run failed", "failed"], ["waited", "waited"],
        ["run skipped", "skipped"], ["missed", "missed"], ["due", "due"]
    ].map(([style, text]) => h("li", null,
              svg("svg", {width: 14, height: 14},
                  style === "waited" ? svg("rect", {class: style, x: 0, y: 5, width: 14, height: 4})
                      : style === "due" || style === "run skipped"
                      ? svg("circle", {class: style, cx: 7, cy: 7, r: style === "due" ? 3 : 4.5})
                      : style === "missed"
                      ? svg("rect", {class: style, x: 3.5, y: 3.5, width: 7, height: 7})
                      : svg("rect", {class: style, x: 4, y: 0, width: 6, height: 14, rx: 2})),
              text)));
