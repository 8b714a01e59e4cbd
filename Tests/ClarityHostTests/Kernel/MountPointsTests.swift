import Testing

@testable import ClarityHost

@Suite struct MountPointsTests {
    static let table = """
        # <file system> <mount point> <type> <options> <dump> <pass>
        UUID=1 / ext4 errors=remount-ro 0 1
        UUID=2 none swap sw 0 0

        nas:/health /mnt/nas nfs noauto,x-systemd.automount 0 0
        /dev/sdb1\t/media/my\\040disk\text4\tdefaults\t0\t2
        /dev/sdc1 /srv ext4 defaults 0 2
        /dev/sdd1 /srv/deep ext4 defaults 0 2
        broken
        """

    static let mounts = """
        22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        23 22 0:21 / /proc rw - proc proc rw
        31 22 8:33 / /srv rw - ext4 /dev/sdc1 rw
        40 22 0:50 / /mnt/nas/inner\\040one rw - tmpfs tmpfs rw
        broken
        """

    static let places: [(path: String, missing: String?)] = [
        ("/", nil), ("/home/x", nil), ("/mnt", nil), ("/mnt/nas", "/mnt/nas"),
        ("/mnt/nas/", "/mnt/nas"), ("/mnt/nas/export/deep", "/mnt/nas"), ("/mnt/nasty", nil),
        ("/mnt/nas/inner one/x", nil), ("/media/my disk/x", "/media/my disk"),
        ("/srv/x", nil), ("/srv/deep/x", "/srv/deep"), ("relative/path", nil), ("", nil),
    ]

    @Test(arguments: places)
    func `a path below a declared mount that is not there is told`(
        _ place: (path: String, missing: String?)
    ) throws {
        var points = MountPoints(table: Self.table) { Self.mounts }

        #expect(try points.missing(above: place.path) == place.missing)
    }

    @Test func `empty tables declare nothing`() throws {
        var points = MountPoints(table: "") { "" }

        #expect(try points.missing(above: "/mnt/nas") == nil)
    }

    @Test func `the kernel's table is read only for a path below a declared mount`() throws {
        let refused = HostTree.Fault(path: "/proc/self/mountinfo", reason: "refused")
        var points = MountPoints(table: Self.table) { () throws(HostTree.Fault) in throw refused }

        #expect(try points.missing(above: "/home/x") == nil)
        #expect(throws: refused) { try points.missing(above: "/srv/x") }
    }
}
