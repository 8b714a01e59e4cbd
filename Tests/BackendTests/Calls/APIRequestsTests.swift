@testable import Backend
@testable import BackendContract
import HealthModel

import Testing

struct APIRequestsTests {
    private let requests = APIRequests(base: "\(testBase)/", dialect: .blueprint)
    private let token = Secret("t0ken")

    private func wire(_ request: HTTPRequest) -> [String] {
        ["\(request.method.rawValue) \(request.url)"]
            + request.headers.map { "\($0.name): \($0.text)" }
            + (request.body.map { [String(decoding: $0, as: UTF8.self)] } ?? [])
    }

    @Test func `a login sends the credentials and no token`() throws {
        let request = try requests.login(email: "ada@example.com", password: Secret(#"p"w"#))

        #expect(
            wire(request) == [
                "POST https://backend.example/api/v1/auth/login", "Accept: application/json",
                "Content-Type: application/json",
                #"{"email":"ada@example.com","password":"p\"w","remember_me":true}"#,
            ])
    }

    @Test func `a refresh sends the refresh token in the body alone`() throws {
        let request = try requests.refresh(Secret("r"))

        #expect(
            wire(request) == [
                "POST https://backend.example/api/v1/auth/refresh", "Accept: application/json",
                "Content-Type: application/json", #"{"refresh_token":"r"}"#,
            ])
    }

    @Test func `a logout sends both tokens`() throws {
        let request = try requests.logout(Secret("r"), token: token)

        #expect(
            wire(request) == [
                "POST https://backend.example/api/v1/auth/logout", "Authorization: Bearer t0ken",
                "Accept: application/json", "Content-Type: application/json",
                #"{"refresh_token":"r"}"#,
            ])
    }

    @Test func `reading calls carry the token and no body`() throws {
        let all = [
            try requests.me(token: token),
            try requests.processing("p-1", token: token),
            try requests.healthDataPage(limit: 50, cursor: nil, token: token),
            try requests.healthDataPage(limit: 50, cursor: "a+b/c=&d", token: token),
            try requests.insightsPage(user: "user-1", limit: 10, offset: 20, token: token),
        ]

        #expect(
            all.map { $0.url.replacing(testBase, with: "") } == [
                "/auth/me", "/health-data/processing/p-1", "/health-data?limit=50",
                "/health-data?limit=50&cursor=a%2Bb%2Fc%3D%26d",
                "/insights/history/user-1?limit=10&offset=20",
            ])
        for request in all {
            #expect(request.method == .get)
            #expect(request.body == nil)
            #expect(
                request.headers.map { "\($0.name): \($0.text)" } == [
                    "Authorization: Bearer t0ken", "Accept: application/json",
                ])
        }
    }

    @Test func `an upload carries the token and the batch`() throws {
        let batch = testBatch([testSample(.steps)])

        let request = try requests.upload(batch, token: token)

        #expect(request.url == "\(testBase)/health-data/upload")
        #expect(request.headers.first?.text == "Bearer t0ken")
        #expect(request.body == (try testBody(batch)))
    }

    @Test func `an id cannot leave its place in the path`() throws {
        let request = try requests.processing("../me?x=1\r\nA: b é", token: token)

        #expect(
            request.url
                == "\(testBase)/health-data/processing/..%2Fme%3Fx%3D1%0D%0AA%3A%20b%20%C3%A9")
    }

    @Test func `a printed request shows neither token nor body`() throws {
        let request = try requests.upload(testBatch([testSample(.steps)]), token: token)
        let size = request.body?.count ?? 0

        var dumped = ""
        dump(request, to: &dumped)

        #expect(
            "\(request)" == """
                POST https://backend.example/api/v1/health-data/upload
                Authorization: <redacted>
                Accept: application/json
                Content-Type: application/json
                (body of \(size) bytes)
                """)
        #expect(!dumped.contains("t0ken"))
        #expect(!dumped.contains("steps"))
    }

    @Test func `a new token takes the place of the old one`() throws {
        let request = try requests.me(token: token).authorized(by: Secret("other"))

        #expect(request.headers.map(\.text) == ["Bearer other", "application/json"])
    }
}
