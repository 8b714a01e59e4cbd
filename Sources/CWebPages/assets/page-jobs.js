/** Jobs: when each ran and runs next, and what it waits for. */
import {actionButton, pauseButton} from "./actions.js";
import {get, isCaretaker} from "./api.js";
import {behind, empty, facts, h, table} from "./dom.js";
import {age, dayTime, moment, number, relative, span} from "./format.js";
import {
    commandText,
    localTimes,
    reasonText,
    runLength,
    stateMark,
    subjectText,
    waitText,
} from "./runs.js";
import {hours, timeline, timelineKey} from "./timeline.js";

/** As many jobs as are shown one by one. */
const most = 60;
/** As many running jobs as show their output, and as many lines of each. */
const mostRunning = 8;
const mostLines = 12;

async function load({query, signal}) {
    const since = new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19) + "Z";
    const lists = await Promise.all([
        get("jobs", {}, signal),
        get("history", {since, limit: 1000}, signal),
        get("next", {count: 400}, signal),
        get("missed", {since, limit: 1000}, signal),
    ]);
    const account = isCaretaker() ? query.get("account") : null;
    const [jobs, runs, next, missed] =
        lists.map((list) => list.filter((one) => !account || one.job.startsWith(`${account}/`)));
    // With many accounts, whoever wants to know why chooses one.
    const explained = jobs.length > most ? [] : await Promise.all(
        jobs.filter((job) => !["disabled", "held"].includes(job.state))
            .map((job) => get("explain", {job: job.job}, signal)));
    const running = explained.filter((one) => one.run !== null && one.running_since);
    const now = await Promise.all(
        running.slice(0, mostRunning).map((one) => get(`runs/${one.run}`, {}, signal)));
    const outputs = now.map((run) => ({job: run.job, run: run.run, ...lastLines(run)}));
    return {jobs, runs, next, missed, account, outputs, explained: explained.map(steady)};
}

/** The last lines that the program of a run's present attempt has written. */
function lastLines({attempt_list: attempts}) {
    const output = attempts.at(-1)?.output;
    const lines = (output?.tail || output?.head || "").trimEnd().split("\n");
    return {text: lines.slice(-mostLines).join("\n")};
}

/** Without what is different at each look, so that an unchanged page is not drawn again. */
function steady(explanation) {
    const start =
        explanation.start.certainty === "estimate" || explanation.start.certainty === "now"
        ? {...explanation.start, at: null}
        : explanation.start;
    return {...explanation, start};
}

function draw({jobs, runs, next, missed, account, outputs, explained}, place) {
    const title = account ? `Jobs of ${account}` : "Jobs";
    if (jobs.length === 0) {
        return [
            h("h1", null, title),
            account ? empty(`There is no account ${account}.`) : empty("The job file has no jobs.", "Run ", h("code", null, "clarity-jobs init"),
                " to make one.")
        ];
    }
    const now = Date.now();
    const coming = next.filter((one) => Date.parse(one.at) < now + hours * 3_600_000);
    const byJob = new Map(explained.map((one) => [one.job, one]));
    return [
        h("h1", null, title),
        h("p", {class: "lead"}, headline(jobs, runs)),
        h("section", {class: "panel", "aria-labelledby": "times"},
            h("div", {class: "section-head"},
                h("h2", {id: "times"}, `The last and the next ${hours} hours`), timelineKey()),
            jobs.length > most ? null
                : timeline(jobs.map((job) => job.job), runs, coming, missed, now),
            behind("Runs as a table", () => runsTable(runs)),
            missed.length === 0 ? null
                : behind("Missed starts as a table", () => missedTable(missed)),
            behind("Next starts as a table",
                () => table("Next starts", ["When", "Job"],
                    coming.slice(0, 200).map((one) => [moment(one.at), one.job])))),
        h("section", {"aria-labelledby": "each"},
            h("h2", {id: "each", class: "unseen"}, "Each job"),
            jobs.length > most ? busyTable(jobs)
                : h("ul", {class: "jobs"},
                    failedFirst(jobs).map(
                        (job) => jobItem(job, byJob.get(job.job), runs,
                            outputs.find((one) => one.job === job.job), place)))),
    ];
}

/** Whether a person has to look at the job: its last run failed, or its declaration has a fault. */
const isBroken = (job) => Boolean(job.last_failure || job.fault);

/** The broken jobs, then the others, each in the order of the job file. */
const failedFirst = (jobs) => [...jobs.filter(isBroken), ...jobs.filter((job) => !isBroken(job))];

/** The jobs that failed, run, wait or are late, where there are too many to show each. */
function busyTable(jobs) {
    const busy = failedFirst(jobs).filter((job) => !["idle", "disabled"].includes(job.state)
        || job.overdue || isBroken(job));
    if (busy.length === 0) return h("p", {class: "muted"}, "No job runs or waits.");
    return table("Jobs that run or wait", ["Job", "State", "Waits for"],
        busy.slice(0, 500).map((job) => [
            h("a", {href: `/jobs?account=${encodeURIComponent(job.job.split("/")[0])}`}, job.job),
            stateMark(job.state),
            isBroken(job) ? h("span", {class: "warn"}, failure(job))
                : job.overdue ? h("span", {class: "warn"}, commandText(job.overdue))
                : job.waiting_on.map(waitText).join("; "),
        ]));
}

function headline(jobs, runs) {
    const running = jobs.filter((job) => job.state === "running").length;
    const broken = jobs.filter((job) => job.last_failure).length;
    const failed = runs.filter((run) => run.state === "failed").length;
    const overdue = jobs.filter((job) => job.overdue).length;
    const held = jobs.filter((job) => job.fault).length;
    const parts = [
        broken ? `${broken} of ${jobs.length} jobs failed last time` : `${jobs.length} jobs`,
        held ? `${held} held, because the job file has a fault` : null,
        running ? `${running} running now` : null,
        `${runs.length} runs in ${hours} hours`, failed ? `${failed} failed` : "none failed",
        overdue ? `${overdue} overdue, because no scheduler runs` : null
    ];
    return `${parts.filter(Boolean).join(", ")}.`;
}

function runsTable(runs) {
    return table("Runs", ["Run", "Job", "Due", "State", "#Took", "What it did"],
        runs.map(
            (run) => [h("a", {href: `/runs/${run.run}`, "data-key": `row ${run.run}`}, run.run),
                run.job, moment(run.scheduled_for), stateMark(run.state), runLength(run),
                run.failure ?? run.summary]));
}

const missedTable = (missed) => table("Missed starts",
    ["First", "Last", "#Number", "Job", "What became of them"],
    missed.map((one) => [moment(one.first_at), moment(one.latest_at), number(one.occurrences),
        one.job, commandText(one.words)]));

function jobItem(job, explanation, runs, output, place) {
    const latest =
        runs.filter((run) => run.job === job.job && run.finished_at)
            .reduce((last, run) => !last || run.finished_at > last.finished_at ? run : last, null);
    const state = explanation?.paused ? "paused" : job.state;
    return h("li", {class: "panel job", "data-job": job.job},
        h("div", {class: "section-head"},
            h("h3", null, job.job, " ", h("span", {class: "muted small"}, job.kind)),
            place.readOnly || !explanation ? null : buttons(job, explanation, place)),
        isBroken(job) && job.state !== "disabled"
            ? h("p", {class: "job-line warn"}, failure(job)) : null,
        job.fault ? null : h("p", {class: "job-line"}, sentence(state, job, explanation),
            explanation && ["running", "enqueued", "paused"].includes(state) && job.next
                ? ` Next start ${dayTime(job.next)} (${relative(job.next)}).` : null),
        output ? liveOutput(output) : null,
        latest && !job.last_failure ? lastRun(latest) : null,
        explanation ? conditions(explanation) : null);
}

const failure = (job) => job.fault ? ["Held: ", commandText(job.fault)]
    : ["Failed ", age(job.last_at), ": ", commandText(job.last_failure)];

/** The end of what a running program has written so far; the page follows it. */
function liveOutput({job, run, text}) {
    const link = h("a", {href: `/runs/${run}`, "data-key": `live ${run}`}, `Run ${run}`);
    return [
        h("p", {class: "muted small"}, link, text ? " has written:" : " has written nothing yet."),
        text ? h("pre", {class: "output", tabindex: 0, "aria-label": `Output of ${job}`}, text)
            : null,
    ];
}

function lastRun(run) {
    const words = run.failure ?? run.summary;
    return h("p", {class: "muted small"}, "Last run ",
        h("a", {href: `/runs/${run.run}`, "data-key": `last ${run.run}`}, run.run), " ",
        stateMark(run.state), " ", age(run.finished_at), words ? `: ${words}` : "");
}

function sentence(state, job, explanation) {
    if (job.overdue) return h("span", {class: "warn"}, "Overdue: ", commandText(job.overdue));
    if (state === "disabled") return "Disabled in the job file.";
    if (state === "paused") {
        const {until, reason} = explanation.paused;
        return [
            "Paused ", until ? `until ${dayTime(until)}` : "until you resume it",
            reason ? `: ${reason}` : "", "."
        ];
    }
    if (state === "running") {
        const since = explanation.running_since;
        return ["Runs now", since ? [", started ", age(since)] : "", "."];
    }
    if (state === "enqueued") {
        const waits =
            job.waiting_on.filter((one) => one.reason !== "notDue").map(waitText).join("; ");
        const later = job.waiting_on.find((one) => one.reason === "notDue");
        if (!waits && later) return `Starts at ${localTimes(later.wanted.replace(" or later", ""))}.`;
        return waits ? `Waits for ${waits}.` : "Ready: a scheduler starts it next.";
    }
    if (!job.next) return "Starts only after an event or by hand.";
    const {schedule} = explanation;
    return `Next ${dayTime(job.next)} (${relative(job.next)})${schedule ? `, ${schedule}` : ""}.`;
}

function buttons(job, explanation, place) {
    const {job: id} = job;
    const {run} = explanation;
    const start = () => actionButton("Run", "run", {job: id}, place,
        {done: `A run of ${id} was asked for.`, label: `Run ${id}`});
    const cancel = () => actionButton("Cancel", "cancel", {run: String(run)}, place, {
        done: `Run ${run} is cancelled.`,
        label: `Cancel the run of ${id}`,
        confirm: {
            title: `Cancel run ${run}?`,
            text: `What ${id} has finished stays; the next run does the rest.`,
        },
    });
    const resume = () => actionButton("Resume", "resume", {job: id}, place,
        {main: true, done: `${id} goes on.`, label: `Resume ${id}`});
    return h("div", {class: "buttons"},
        (run ?? null) === null ? start() : cancel(),
        explanation.paused ? resume() : pauseButton(id, place));
}

/** Each constraint with what it needs and what was measured; closed unless something waits. */
function conditions(explanation) {
    const others = explanation.reasons.filter((one) => one.reason !== "notDue");
    const rows = [...explanation.constraints, ...others];
    if (rows.length === 0) return null;
    const unmet = explanation.constraints.filter((one) => one.verdict === "unmet");
    const list = h("details", {class: "behind", "data-key": `conditions ${explanation.job}`},
        h("summary", null, unmet.length === 0 ? "All constraints hold"
            : `Waits for ${unmet.map((one) => subjectText(one.subject)).join(", ")}`),
        table(`Constraints of ${explanation.job}`,
            ["Constraint", "Wanted", "Measured", "Verdict", "Known from", "Held back in 7 days"],
            rows.map(conditionRow)),
        explanation.changes.length > 0 && unmet.length > 0
            ? facts([["What would start it", commandText(explanation.changes.join("; "))]]) : null);
    list.open = unmet.length > 0;
    return list;
}

const verdicts = {
    met: "✓ met", assumed: "✓ assumed", unmet: "✕ not met", dropped: "– dropped",
};

function conditionRow(row) {
    const subject = subjectText(row.subject);
    const held = row.last_7_days;
    return [
        row.reason === "constraint" ? subject : `${reasonText(row.reason)}, ${subject}`,
        localTimes(row.wanted),
        localTimes(row.measured),
        h("span", {class: row.verdict === "unmet" ? "warn nowrap" : "nowrap"},
            verdicts[row.verdict] ?? row.verdict),
        localTimes(row.source),
        held ? `${held.times} times, ${span(held.total_ms)}` : "never",
    ];
}

export default {title: "Jobs", load, draw};
