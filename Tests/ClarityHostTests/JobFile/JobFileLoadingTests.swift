import ClarityHost
import ClarityScheduler
import Glibc
import Testing

@Suite struct JobFileLoadingTests {
    private func reader(in folder: String) -> JobFileReader {
        JobFileReader(
            catalogue: JobFileSamples.catalogue, zones: SampleZones(), home: "/home/ada",
            workingDirectory: folder, localZone: "UTC", host: "ada")
    }

    private func faults(_ path: String, in folder: String) -> String? {
        do throws(JobFileFaults) {
            _ = try reader(in: folder).read(fileAt: path)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `a file is read from the working directory`() throws {
        try SampleFiles.withFolder { folder in
            let text = JobFileSamples.file(job: "", top: "store: { directory: state }")
            mkdir("\(folder)/conf", 0o700)
            try SampleFiles.write("\(folder)/conf/my.yaml", Array(text.utf8))

            let relative = try reader(in: folder).read(fileAt: "conf/my.yaml")
            let absolute = try reader(in: "/").read(fileAt: "\(folder)/conf/my.yaml")

            #expect(relative.stateDirectory == "\(folder)/conf/state")
            #expect(relative == absolute)
        }
    }

    @Test func `a file that cannot be read is told with the reason`() throws {
        try SampleFiles.withFolder { folder in
            mkdir("\(folder)/conf", 0o700)
            try SampleFiles.write(
                "\(folder)/large", [UInt8](repeating: UInt8(ascii: "#"), count: (1 << 20) + 1))
            try SampleFiles.write("\(folder)/two", Array("version: 1\nstor: 1\nbackend: 2".utf8))

            #expect(
                faults("none.yaml", in: folder)
                    == "none.yaml: cannot read it: no such file or directory")
            #expect(faults("conf", in: folder) == "conf: cannot read it: is a directory")
            #expect(
                faults("large", in: folder)
                    == "large: the file has more than 1 MiB, the most a job file may have")
            #expect(
                faults("/dev/zero", in: folder)
                    == "/dev/zero: the file has more than 1 MiB, the most a job file may have")
            #expect(
                faults("two", in: folder) == """
                    two:1:1: the job file has no `jobs`
                    two:2:1: unknown key `stor` in the job file; did you mean `store`?
                    two:3:10: `backend` is a number, wanted a mapping
                    help: such as `backend: { url: https://clarity.example/api/v1 }`
                    """)
        }
    }
}
