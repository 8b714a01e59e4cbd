import Platform
import JSON
import WebAPI

/// The OpenAPI description (3.1) of what `clarity-jobs serve` answers, made from the routes that the
/// server has and from the results of the commands that answer them.
struct APIDescription {
    private static let place = "#/components/schemas/"

    /// The whole document.
    var document: JSON {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "clarity-jobs serve", "version": .string(programVersion),
                "description":
                    .string(
                        "The API that the web pages read. A session begins with the link of "
                            + "`clarity-jobs serve link`, or with the password."),
            ],
            "servers": [["url": "http://127.0.0.1:8799"]],
            "security": [["session": []]],
            "paths": .object([sessionPath, eventsPath, runPath] + routes + actions),
            "components": [
                "securitySchemes": [
                    "session": [
                        "type": "apiKey", "in": "cookie", "name": "clarity-pages-8799",
                        "description": "the name ends in the server's port",
                    ],
                    "token": [
                        "type": "http", "scheme": "bearer",
                        "description": "a token of `clarity-jobs serve token add`",
                    ],
                ],
                "schemas": .object(schemas),
            ],
        ]
    }

    private var schemas: [JSON.Member] {
        let schema = ResultSchema(place: APIDescription.place)
        let keys = Set(APIRoute.all.map(\.resultKey) + APIAction.all.map(\.resultKey))
        let own: [JSON.Member] = [
            .init(
                name: "error",
                value: APIDescription.object(
                    [("error", ["type": "string", "description": "what is wrong, in one line"])])),
            .init(
                name: "refusal",
                value: APIDescription.object([
                    ("error", ["type": "string", "description": "the command's line"]),
                    ("message", ["type": "string", "description": "the same"]),
                    ("status", ["type": "integer", "description": "its exit status"]),
                ])),
            .init(name: "token_run", value: APIDescription.tokenRun),
            .init(
                name: "message",
                value: APIDescription.object(
                    [("message", ["type": "string", "description": "what was done, in one line"])]
                )),
            .init(
                name: "session",
                value: APIDescription.object([
                    (
                        "csrf",
                        [
                            "type": "string",
                            "description": "the header X-CSRF-Token of every action",
                        ]
                    ),
                    (
                        "session",
                        ["type": "string", "description": "the name of this session"]
                    ),
                    (
                        "read_only",
                        ["type": "boolean", "description": "whether actions are refused"]
                    ),
                    (
                        "zone",
                        [
                            "type": ["string", "null"],
                            "description": "the time zone that days follow, unless it is unknown",
                        ]
                    ),
                    (
                        "backend",
                        [
                            "type": "boolean",
                            "description": """
                            whether the job file names a backend; false for who looks after the \
                            accounts
                            """,
                        ]
                    ),
                    (
                        "health",
                        [
                            "type": "boolean",
                            "description": "whether there is a backend, or health data of anybody",
                        ]
                    ),
                    (
                        "viewer",
                        [
                            "type": "string", "enum": ["person", "caretaker", "wearer"],
                            "description": """
                            who is logged in: the person of a job file without accounts, who looks \
                            after the accounts, or the wearer of one
                            """,
                        ]
                    ),
                    (
                        "account",
                        [
                            "type": ["string", "null"], "description": "the account of the wearer",
                        ]
                    ),
                    ("version", ["type": "string", "description": "the version of the program"]),
                ])),
        ]
        return own + schema.sharedDefinitions
            + ResultSchema.commands.filter { keys.contains($0.key) }.map(schema.definition)
    }

    // MARK: Paths

    private var routes: [JSON.Member] {
        APIRoute.all.map { route in
            let variable = route.variable
            let parameters = route.parameters.map { parameter -> JSON in
                let isInPath = parameter.name == variable
                return [
                    "name": .string(parameter.name), "in": isInPath ? "path" : "query",
                    "required": .bool(parameter.isRequired),
                    "description": .string(parameter.summary),
                    "schema": APIDescription.schema(parameter.value),
                ]
            }
            return path(
                route.path, "get", route.summary,
                [
                    "description": .string("`\(route.command.joined(separator: " "))`"),
                    "parameters": .array(parameters),
                ], result: route.resultKey, faults: [400, 401, 403, 404, 503, 504])
        }
    }

    private var actions: [JSON.Member] {
        APIAction.all.map { action in
            let fields = action.parameters.map { parameter -> JSON.Member in
                let head: JSON = ["description": .string(parameter.summary)]
                return JSON.Member(
                    name: parameter.name,
                    value: head.adding(APIDescription.schema(parameter.value)))
            }
            let required = action.parameters.filter(\.isRequired).map { JSON.string($0.name) }
            return path(
                "actions/\(action.name)", "post", action.summary,
                [
                    "description": .string("`\(action.command.joined(separator: " "))`"),
                    "parameters": [APIDescription.csrfHeader],
                    "requestBody": [
                        "required": true,
                        "content": [
                            "application/json": [
                                "schema": [
                                    "type": "object", "properties": .object(fields),
                                    "required": .array(required), "additionalProperties": false,
                                ]
                            ]
                        ],
                    ],
                ], result: action.resultKey, faults: [400, 401, 403, 413, 415, 503, 504],
                more: [APIDescription.answer(409, "the command refused", "refusal")])
        }
    }

    private var sessionPath: JSON.Member {
        let show = path(
            "session", "get", "What the pages need to know at first", [:], result: "session",
            faults: [400, 401, 403, 503, 504])
        let end = path(
            "session", "delete", "Ends the session, and has the browser forget its cookie",
            ["parameters": [APIDescription.csrfHeader]], result: "message",
            faults: [401, 403, 503])
        return .init(name: show.name, value: show.value.adding(end.value))
    }

    private static let csrfHeader: JSON = [
        "name": "X-CSRF-Token", "in": "header", "required": true,
        "description": "the token of `session`", "schema": ["type": "string"],
    ]

    private var eventsPath: JSON.Member {
        let stream: JSON.Member = .init(
            name: "200",
            value: [
                "description": "an event `changed` after each change of the history",
                "content": ["text/event-stream": ["schema": ["type": "string"]]],
            ])
        let answers = [stream] + [401, 403, 503].map { APIDescription.answer($0, nil, "error") }
        return .init(
            name: "/api/v1/events",
            value: [
                "get": [
                    "summary": "Changes of the history, as server-sent events",
                    "responses": .object(answers),
                ]
            ])
    }

    private var runPath: JSON.Member {
        var answers = [(200, "the run has ended"), (202, "the run has not ended yet")].map {
            APIDescription.answer($0.0, $0.1, "token_run")
        }
        answers.append(APIDescription.answer(409, "the command refused", "refusal"))
        let faults = [
            (400, nil), (401, "the token is wrong or missing"),
            (403, "the token may not run this job, or the pages only show"),
            (429, "too many requests of this token, or wrong tokens"), (503, nil),
        ]
        answers += faults.map { APIDescription.answer($0.0, $0.1, "error") }
        return .init(
            name: "/api/v1/run/{job}",
            value: [
                "post": [
                    "summary": "Ask for a run of a job, with a token that may run it",
                    "security": [["token": []]],
                    "parameters": [
                        [
                            "name": "job", "in": "path", "required": true,
                            "description": "the job", "schema": APIDescription.schema(.job),
                        ],
                        [
                            "name": "wait", "in": "query", "required": false,
                            "description": "how many seconds to wait for the end of the run",
                            "schema": APIDescription.schema(.number(0...300)),
                        ],
                    ],
                    "responses": .object(answers),
                ]
            ])
    }

    private static var tokenRun: JSON {
        func nullable(_ type: String, _ words: JSON) -> JSON {
            ["type": [.string(type), "null"], "description": words]
        }
        return object([
            ("run", ["type": "integer", "description": "number of the run"]),
            ("job", ["type": "string", "description": "id of the job"]),
            ("state", nullable("string", "state of the run, as in `history`")),
            ("reason", nullable("string", "what it waits for, or why it failed")),
            ("exit_status", nullable("integer", "exit status of a command that has ended")),
            ("started_at", nullable("string", "start of the first attempt")),
            ("finished_at", nullable("string", "end of the run")),
        ])
    }

    private func path(
        _ path: String, _ method: String, _ summary: String, _ head: JSON, result: String,
        faults: [Int], more: [JSON.Member] = []
    ) -> JSON.Member {
        let answers =
            [APIDescription.answer(200, "the result", result)] + more
            + faults.map { APIDescription.answer($0, nil, "error") }
        let operation: JSON = ["summary": .string(summary)]
        return .init(
            name: "/api/v1/\(path)",
            value: .object([
                .init(
                    name: method,
                    value: operation.adding(head).adding(["responses": .object(answers)]))
            ]))
    }

    // MARK: Parts

    private static func answer(_ status: Int, _ words: String?, _ schema: String) -> JSON.Member {
        var content: [JSON.Member] = [
            .init(
                name: "application/json",
                value: ["schema": ["$ref": .string("\(place)\(schema)")]])
        ]
        // A request that a proxy may read otherwise is refused before its path is known.
        if status == 400 {
            content.append(.init(name: "text/plain", value: ["schema": ["type": "string"]]))
        }
        return .init(
            name: "\(status)",
            value: [
                "description": .string(words ?? meanings[status] ?? ""),
                "content": .object(content),
            ])
    }

    private static let meanings = [
        400: "a parameter or a field is wrong", 401: "there is no session",
        403: "the host, the site or the token is wrong, or the pages only show",
        404: "there is no such thing", 413: "the body is too large", 415: "the body is no JSON",
        503: "the command failed, or too many wait", 504: "the command took too long",
    ]

    private static func object(_ fields: [(String, JSON)]) -> JSON {
        [
            "type": "object",
            "properties": .object(fields.map { JSON.Member(name: $0.0, value: $0.1) }),
            "required": .array(fields.map { .string($0.0) }),
        ]
    }

    private static func schema(_ value: APIValue) -> JSON {
        switch value {
        case .number(let range):
            [
                "type": "integer", "minimum": .integer(range.lowerBound),
                "maximum": .integer(range.upperBound),
            ]
        case .choice(let words): ["type": "string", "enum": .array(words.map { .string($0) })]
        default: ["type": "string", "pattern": .string(value.pattern)]
        }
    }
}
