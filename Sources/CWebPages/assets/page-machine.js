/** Machine: the conditions of the machine, and the changes that clarity-jobs is notified of. */
import {get, isCaretaker} from "./api.js";
import {h, table} from "./dom.js";
import {age, moment, words} from "./format.js";
import {commandText} from "./runs.js";

async function load({signal}) {
    // What an account's own status and notices say is for its wearer.
    if (isCaretaker())
        return {doctor: await get("doctor", {}, signal), installation: null, notices: []};
    const [doctor, status, notices] = await Promise.all(
        [get("doctor", {}, signal), get("status", {}, signal), get("notices", {}, signal)]);
    return {doctor, installation: status.installation, notices};
}

function draw({doctor, installation, notices}) {
    const loops = installation?.loops ?? [];
    const deaf = doctor.heard.filter((one) => one.fault);
    const current = notices.filter((one) => !one.resolved_at);
    return [
        h("h1", null, "Machine"),
        installation && h("p", {class: "lead"},
            loops.length > 0 ? ["A loop has run since ", moment(loops[0].since), ". "]
                             : "No loop runs here: cron or a person has to start the jobs. ",
            "A scheduler last decided ", age(installation?.last_look_at), "."),
        current.length === 0 ? null : h("section", {class: "notice"},
            h("h2", null, "What is wrong now"),
            h("ul", null, current.map((one) => h("li", null,
                commandText(one.text), " ", h("span", {class: "muted"}, age(one.raised_at)))))),
        h("section", {class: "panel", "aria-labelledby": "conditions"},
            h("div", {class: "section-head"}, h("h2", {id: "conditions"}, "Conditions"),
                h("span", {class: "muted small"}, "measured ", age(doctor.at))),
            table("Conditions of this machine",
                ["Condition", "Measured", "Known from", "To know more"],
                doctor.conditions.map(conditionRow))),
        h("section", {class: "panel", "aria-labelledby": "heard"},
            h("h2", {id: "heard"}, "Change notifications"),
            h("p", {class: "muted"},
                deaf.length === 0 ? "clarity-jobs is notified of every change."
                                  : "Conditions without notifications are polled once a minute."),
            table("Change notifications", ["Change", "Notified"], doctor.heard.map((one) => [
                one.subject,
                one.fault ? h("span", {class: "muted"}, `no: ${one.fault}`) : "✓ yes",
            ]))),
    ];
}

function conditionRow({name, value, words: text, source, to_know_more: advice}) {
    const style = value === null ? "muted" : "strong";
    return [
        words(name.replace(/_bytes$|_percent$/, "")),
        h("span", {class: style, "data-condition": name}, text),
        source,
        advice ? commandText(advice) : "",
    ];
}

export default {title: "Machine", load, draw};
