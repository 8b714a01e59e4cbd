extension MockBus {
    /// Returns the configuration of a system bus that everybody may use.
    static func configuration(_ address: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
          "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>system</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <allow own="*"/>
            <allow send_destination="*"/>
            <allow send_type="signal"/>
            <allow receive_sender="*"/>
          </policy>
        </busconfig>

        """
    }

    /// The helper process: runs one line of its input after the other, and prints `done` or the
    /// error.
    static let handProgram = """
        import sys, dbus, dbus.bus, dbus.lowlevel
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib

        bus = dbus.bus.BusConnection(sys.argv[1], mainloop=DBusGMainLoop())

        def wait(name, there):
            owners = []
            watch = bus.watch_name_owner(name, owners.append)
            while not owners or bool(owners[-1]) != there:
                GLib.MainContext.default().iteration(True)
            watch.cancel()

        def call(name, path, interface, member, signature, *arguments):
            return bus.call_blocking(name, path, interface, member, signature, arguments)

        def mock(name, path, member, signature, *arguments):
            return call(name, path, 'org.freedesktop.DBus.Mock', member, signature, *arguments)

        def set(name, path, interface, member, value):
            call(name, path, 'org.freedesktop.DBus.Properties', 'Set', 'ssv', interface, member, value)

        def emit(name, path, interface, member, signature, *arguments):
            mock(name, path, 'EmitSignal', 'sssav', interface, member, signature,
                 dbus.Array(arguments, signature='v'))

        def spoof(process, name, path, interface, member, value):
            stranger = dbus.bus.BusConnection(sys.argv[1])
            def of(owner):
                return stranger.call_blocking('org.freedesktop.DBus', '/org/freedesktop/DBus',
                    'org.freedesktop.DBus', 'GetConnectionUnixProcessID', 's', (owner,))
            listeners = [owner for owner in stranger.list_names()
                         if owner.startswith(':') and of(owner) == process]
            assert listeners
            for listener in [None] + listeners:
                changed = dbus.lowlevel.SignalMessage(path, 'org.freedesktop.DBus.Properties',
                                                      'PropertiesChanged')
                changed.append(interface, {member: value}, dbus.Array([], signature='s'),
                               signature='sa{sv}as')
                gone = dbus.lowlevel.SignalMessage('/org/freedesktop/DBus', 'org.freedesktop.DBus',
                                                   'NameOwnerChanged')
                gone.append(name, bus.get_name_owner(name), '', signature='sss')
                for message in [changed, gone]:
                    if listener:
                        message.set_destination(listener)
                    stranger.send_message(message)
            # The bus takes the messages of a connection in their order.
            stranger.list_names()
            stranger.close()

        for line in sys.stdin:
            try:
                exec(line)
                print('done', flush=True)
            except Exception as error:
                print(type(error).__name__, str(error).replace(chr(10), ' '), flush=True)
        """
}
