/// The output of `--help`.
let helpText = """
    clarity-jobs-sandbox --data DIR [options]

    A CLARITY-compatible server on this machine alone, for demos and tests. It keeps
    everything in DIR/sandbox.db and has a user demo@example.com / Demo-Passw0rd!
    with 23 insights and 12 metrics from before, which no summary counts.

    examples:
      clarity-jobs-sandbox --data /tmp/clarity
      clarity-jobs-sandbox --data d --listen 127.0.0.1:0 --exit-with-stdin
      clarity-jobs-sandbox --data d --fault 'POST /health-data/upload: 503 retry-after=2 x3, reset'

    options:
      --listen 127.0.0.1:PORT  where to listen; port 0 takes a free one (127.0.0.1:8787)
      --data DIR               where to keep the data; made where there is none
      --dialect NAME           the contract to keep: blueprint or loop (blueprint)
      --quirks LIST            with loop: `measured` behaves as the deployed backend
                               does where that is not as its schema says; `repaired`
                               does so without the limiter's crash; or names
      --fault SPEC             faults for one method and path, in turn; repeatable
      --token-life SPAN        how long an access token is good (1h)
      --processing-steps N     at which poll an upload is processed, 1 to 1000 (3)
      --clock INSTANT          the clock stands there until POST /_sandbox/clock sets it
      --exit-with-stdin        end when standard input ends
      -h, --help               print this

    a fault SPEC is `METHOD PATH [~TEXT]: ACTION [xCOUNT], ...`; PATH is what follows
    /api/v1, `*` any method or segment, TEXT what the body must have, `x*` for ever.
    The actions:
      503 [retry-after=N]      any status of 200 to 599
      reset                    reset the connection, the request is not carried out
      drop                     carry the request out, then reset without an answer
      stored=400               carry the request out, then answer 400 to 599 all the same
      truncate                 carry it out, send half of the answer
      latency=250ms            carry it out, answer late
      garbage                  200 with a body that is no JSON
      outage                   what is answered while what is behind it is down
      expire                   401, and the token is revoked
      hang                     never answer
      pass                     answer as usual

    the quirks, all in `measured`, all but the last in `repaired`:\(quirkLines)

    outside the contract: GET /_sandbox/summary, /_sandbox/metrics?limit&after,
    /_sandbox/sends?after (which samples came how often, and with what answer),
    /_sandbox/arrivals (when each request came), /_sandbox/mail;
    POST /_sandbox/fault (a SPEC a line), /_sandbox/expire-tokens (`access` or `all`),
    /_sandbox/fail-processing and /_sandbox/stall-processing (of what
    is not finished), /_sandbox/edit-metric (an id: another value, of now),
    /_sandbox/clock (an instant); DELETE /_sandbox/fault

    exit status: 0 ended by SIGINT or SIGTERM, 64 usage, 69 port or directory unusable

    """

/// The names of the quirks, wrapped into lines.
private let quirkLines = Quirk.allCases.reduce(into: ["    "]) { lines, quirk in
    let word = quirk.rawValue + (quirk == Quirk.allCases.last ? "" : ", ")
    if (lines.last ?? "").count + word.count > 88 { lines.append("    ") }
    lines[lines.count - 1] += word
}.map { "\n" + $0.trimmingSpaces }.joined()
