/** One run: its account, what it waited for, its attempts and their output. */
import {actionButton} from "./actions.js";
import {get} from "./api.js";
import {behind, facts, h, table} from "./dom.js";
import {dayTime, mebibytes, moment, number, span, words} from "./format.js";
import {
    commandText,
    localTimes,
    reasonText,
    runLength,
    stateMark,
    subjectText,
    triggerText,
} from "./runs.js";

const load = ({id, signal}) => get(`runs/${id}`, {}, signal);

function draw(run, place) {
    return [
        h("p", {class: "small"}, h("a", {href: "/jobs"}, "Jobs")),
        h("div", {class: "section-head"}, h("h1", null, `Run ${run.run}`),
            place.readOnly ? null : buttons(run, place)),
        h("p", {class: "lead"}, run.job, " ", stateMark(run.state),
            run.finished_at ? ` ${dayTime(run.finished_at)}` : ""),
        run.failure ? h("div", {class: "notice"},
            h("h2", null, "Why it failed"), h("p", null, commandText(run.failure))) : null,
        h("div", {class: "columns"}, account(run), counts(run)),
        waits(run),
        h("section", {class: "below"}, h("h2", {class: "spaced"}, "Attempts"),
            run.attempt_list.length === 0 ? h("p", {class: "muted"}, "No attempt yet.")
                                          : run.attempt_list.map(attempt)),
    ];
}

function account(run) {
    const cause = run.caused_by;
    return h("section", {class: "panel"}, h("h2", null, "Account"),
        run.summary ? h("p", {class: "account"}, localTimes(run.summary)) : null,
        facts([
            ["Started", triggerText(run.trigger)],
            ["Caused by", cause ? h("a", {href: `/runs/${cause}`}, `run ${cause}`) : null],
            ["Due", moment(run.scheduled_for)],
            ["First attempt", moment(run.started_at)],
            ["Ended", moment(run.finished_at)],
            ["Took", runLength(run)],
            ["Stopped because of", run.stop_reason],
            ["May start again", moment(run.not_before)],
            ["Needs", run.needs],
        ]),
        run.notes.length === 0 ? null : h("ul", {class: "notes small"},
            run.notes.map((note) => h("li", null, commandText(note)))));
}

function counts(run) {
    const counted = Object.entries(run.counts).filter(([, value]) => value !== 0);
    if (counted.length === 0) return null;
    return h("section", {class: "panel"}, h("h2", null, "Counts"),
        facts(counted.map(([name, value]) => [
            words(name.replace("http_", "HTTP ")),
            h("data", {value, "data-count": name}, number(value)),
        ]), {class: "facts figures"}));
}

function buttons(run, place) {
    const fields = {run: String(run.run)};
    if (["enqueued", "running"].includes(run.state)) {
        return actionButton("Cancel", "cancel", fields, place, {
            done: `Run ${run.run} is cancelled.`,
            confirm: {
                title: `Cancel run ${run.run}?`,
                text: "What it has finished stays; the next run does the rest."
            }
        });
    }
    if (["failed", "cancelled", "skipped"].includes(run.state)) {
        return actionButton(
            "Retry", "retry", fields, place, {main: true, done: `Run ${run.run} is tried again.`});
    }
    return null;
}

function waits(run) {
    if (run.deferrals.length === 0) return null;
    const length = (one) =>
        (one.until ? Date.parse(one.until) : Date.now()) - Date.parse(one.since);
    const row = (one) => [
        one.reason === "constraint" ? subjectText(one.subject)
            : `${reasonText(one.reason)}: ${subjectText(one.subject)}`,
        localTimes(one.wanted),
        localTimes(one.measured),
        moment(one.since),
        span(length(one)),
    ];
    return h("section", {class: "plain below"},
        h("h2", {class: "spaced"}, "What it waited for"),
        table("What it waited for", ["For", "Wanted", "Measured", "Since", "#How long"],
            run.deferrals.map(row)));
}

function attempt(one) {
    const length = Date.parse(one.finished_at ?? "") - Date.parse(one.started_at);
    return h("div", {class: "panel attempt"},
        h("h3", null, `Attempt ${one.attempt} `, stateMark(one.result)),
        facts([
            ["Started", moment(one.started_at)],
            ["Took", Number.isNaN(length) ? null : span(length)],
            ["Why", one.reason],
            ["Stopped because of", one.stop_reason],
            ["Peak memory", one.peak_memory_bytes > 0 ? mebibytes(one.peak_memory_bytes) : null],
        ]),
        one.output ? behindOutput(one) : null);
}

function behindOutput({attempt, output}) {
    const pre = (text) => h("pre", {class: "output", tabindex: 0}, text);
    const leftOut = output.left_out_bytes;
    const details = behind(`Output of attempt ${attempt}`, () => h("div", null,
        pre(output.head),
        leftOut > 0
            ? h("p", {class: "muted small"}, `${number(leftOut)} bytes are left out here`) : null,
        output.tail ? pre(output.tail) : null));
    details.open = true;
    return details;
}

export default {title: ({id}) => `Run ${id}`, load, draw};
