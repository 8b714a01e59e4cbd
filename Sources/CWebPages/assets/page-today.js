/** Today: the newest value of each measure, last night, the latest insight, what is not fresh. */
import {get, getOrNone, hasBackend} from "./api.js";
import {behind, facts, h, noData, table} from "./dom.js";
import {
    addDays,
    age,
    civilDay,
    clockTime,
    count,
    dayOf,
    measure,
    moment,
    number,
    quantity,
    regional,
    span,
    words
} from "./format.js";
import {loadNights, minutesByStage} from "./nights.js";
import {hourAxis, nightPicture, rings, sparkline, stageOf, stages} from "./pictures.js";
import {commandText} from "./runs.js";

/** The page that shows a measure over time. */
function linkOf(item) {
    if (item.name === "total_sleep_minutes") return "/sleep";
    return item.record_type ? `/explore?type=${item.record_type}` : null;
}

const shownDays = 30;

async function load({signal}) {
    const [summary, status] =
        await Promise.all([getOrNone("summary", {}, signal), get("status", {}, signal)]);
    if (!summary) return {summary, status, night: null, goals: null, series: []};
    const {day} = summary;
    const [{nights}, activity, ...series] = await Promise.all([
        loadNights({since: day, until: day}, signal),
        getOrNone("activity", {since: day, until: day}, signal),
        ...summary.items.map((item) => recent(item.name, day, signal)),
    ]);
    return {summary, status, night: nights[0] ?? null, goals: activity?.rows[0] ?? null, series};
}

/** The days of a measure up to one; a measure that was never recorded has none. */
async function recent(name, last, signal) {
    const words = {since: addDays(last, 1 - shownDays), until: last};
    const answer = await getOrNone(`metrics/${name}`, words, signal);
    const found = answer?.measures.find((one) => one.measure === name);
    return found ? {unit: found.unit, days: found.days} : null;
}

const valueOf = (day) => day.mean ?? day.total ?? null;

function draw({summary, status, night, goals, series}) {
    const isEmpty = !summary
        || !night && !summary.insight && summary.items.every((item) => item.value === null);
    const needy = troubles(status);
    if (isEmpty) return [h("h1", null, "Today"), needy, noData()];
    const isOld = summary.day < addDays(dayOf(Date.now()), -1);
    return [
        h("h1", null, civilDay(summary.day, {
            weekday: "long", day: "numeric", month: "long", ...isOld && {year: "numeric"}
        })),
        isOld ? h("p", {class: "lead", id: "newest"}, "Nothing is newer than this day.") : null,
        needy ?? freshness(status),
        h("ul", {class: "cards"},
            summary.items.map((item, index) => card(item, series[index], summary.day, isOld))),
        behind(`The last ${shownDays} days as a table`, () => daysTable(summary, series)),
        h("div", {class: "columns"}, lastNight(night, isOld), goalsPanel(goals),
            insight(summary.insight)),
    ];
}

function card(item, series, today, isOld) {
    const byDay = new Map((series?.days ?? []).map((day) => [day.day, valueOf(day)]));
    const days = Array.from({length: shownDays},
        (_, index) => byDay.get(addDays(today, index + 1 - shownDays)) ?? null);
    const known = days.filter((value) => value !== null);
    // A day that is not over has no sum yet: the last whole day stands in.
    const whole = item.value === null ? (series?.days ?? []).at(-1) : undefined;
    const latest = item.value ?? (whole ? valueOf(whole) : null);
    const link = linkOf(item);
    const range = known.length < 2 ? ""
        : `${shownDays} days, from ${number(regional(Math.min(...known), item.unit).value)} to ${
            quantity(Math.max(...known), item.unit)}`;
    const day = item.day ?? whole?.day;
    const when = !day ? "nothing recorded" : day === today && !isOld ? "today" : civilDay(day);
    return h("li", {class: `card ${item.state}`, "data-measure": item.name},
        h("h2", null,
            link ? h("a", {href: link, "data-key": `card ${item.name}`}, item.title)
                 : item.title),
        h("p", {class: "value"},
            latest === null ? h("span", {class: "muted"}, "–") : measure(latest, item.unit)),
        h("p", {class: "muted small"}, when, item.as_of && !isOld ? [" · ", age(item.as_of)] : null,
            item.state === "stale" ? h("strong", {class: "warn"}, " · stale") : null),
        sparkline(days, range));
}

function daysTable(summary, series) {
    const days = Array.from({length: shownDays}, (_, index) => addDays(summary.day, -index));
    const maps =
        series.map((one) => new Map((one?.days ?? []).map((day) => [day.day, valueOf(day)])));
    return table(`The last ${shownDays} days`,
        ["Day", ...summary.items.map((item) => `#${item.title}`)],
        days.map((day) => [civilDay(day), ...summary.items.map((item, index) => {
            const value = maps[index].get(day);
            return value === undefined ? "" : measure(value, series[index].unit);
        })]));
}

function freshness(status) {
    const needy = status.outbox?.for_person ?? 0;
    return h("p", {class: "lead"},
        status.goals.length > 0 ? "All data is up to date." : null,
        needy === 0 ? null
            : [" ", h("a", {href: "/data"},
                `${count(needy, "sample needs", "samples need")} your decision.`)]);
}

/** The failed jobs, what is not fresh, and the jobs that are late or wait for a login, if any. */
function troubles(status) {
    const missed = status.goals.filter((goal) => !goal.holds);
    const faults = [
        ...status.job_file_fault
            ? [{name: "The job file has a fault", text: status.job_file_fault}] : [],
        ...status.jobs.filter((job) => job.fault)
            .map((job) => ({name: `${job.job} is held`, text: job.fault})),
    ];
    const failed = status.jobs.filter((job) => job.failure && !job.fault);
    const waiting = status.jobs.filter(
        (job) => !job.failure && !job.fault && (job.overdue || job.waits_for_login));
    if (faults.length + missed.length + failed.length + waiting.length === 0) return null;
    const length = (seconds) => span(seconds * 1000);
    const how = (goal) => goal.age_seconds === null ? "nothing has arrived"
        : `${length(goal.age_seconds)} old, and should be at most ${length(goal.within_seconds)}`;
    return h("section", {class: "notice", "aria-labelledby": "stale"},
        h("h2", {id: "stale"},
            failed.length + faults.length > 0 ? "Failed" : "Not up to date"),
        h("ul", null,
            faults.map((fault) => h("li", null,
                h("strong", null, fault.name), ": ", commandText(fault.text))),
            failed.map((job) => h("li", null,
                h("a", {href: `/runs/${job.failed_run}`}, h("strong", null, job.job)),
                " failed ", age(job.failed_at), ": ", commandText(job.failure))),
            missed.map((goal) => h("li", null,
                h("strong", null, words(goal.goal)), ": ", how(goal),
                goal.why ? [h("br"), h("span", {class: "muted"}, commandText(goal.why))] : null)),
            waiting.map((job) => h("li", null,
                h("a", {href: "/jobs"}, h("strong", null, job.job)), ": ",
                commandText(job.words)))));
}

function panel(title, path, ...content) {
    return h("section", {class: "panel"}, h("h2", null, h("a", {href: path}, title)), content);
}

function lastNight(night, isOld) {
    const title = [isOld ? "The night before" : "Last night", "/sleep"];
    if (!night) {
        return panel(...title, h("p", {class: "muted"}, "No sleep is recorded for this night."));
    }
    return panel(...title,
        h("p", null, measure(Math.round(night.asleep), "min"), " asleep, from ",
            clockTime(night.start), " to ", clockTime(night.end)),
        h("div", {class: "lane-names"},
            h("ul", {"aria-hidden": "true"}, stages.map((stage) => h("li", null, stage.name))),
            h("div", {class: "picture"}, nightPicture(night), hourAxis(night.start, night.end))),
        behind("Stages as a table", () => stageTables(night)));
}

/** The rings of the day. */
function goalsPanel(day) {
    if (!day) return null;
    const part = (name, value, goal, unit) => value === null ? null
        : [name, [measure(value, unit), goal === null ? null : ` of ${number(goal, 0)}`]];
    return panel("Goals", "/activity",
        h("div", {class: "goals"}, rings(day), facts([
            part("Move", day.move, day.move_goal, day.move_unit),
            part("Exercise", day.exercise_minutes, day.exercise_minutes_goal, "min"),
            part("Stand", day.stand_hours, day.stand_hours_goal, "h"),
        ].filter(Boolean))));
}

function stageTables(night) {
    const sums = minutesByStage(night);
    const total = (stage) =>
        [stage.name, measure(Math.round(sums.get(stage.id) ?? 0), "min")];
    const part = ({stage, start, end}) => [stageOf(stage).name, clockTime(start), clockTime(end)];
    return h("div", null,
        table("Minutes of each stage", ["Stage", "#Time"], stages.map(total)),
        table("Parts of the night", ["Stage", "From", "To"], night.parts.map(part)));
}

function insight(latest) {
    const title = ["Latest insight", "/insights"];
    if (!latest) {
        if (!hasBackend()) return null;
        return panel(...title, h("p", {class: "muted"}, "The backend has made no insight yet."));
    }
    return panel(...title,
        h("p", {class: "prose"}, latest.narrative),
        h("p", {class: "muted small"}, "Made ", moment(latest.generated_at)));
}

export default {title: "Today", load, draw};
