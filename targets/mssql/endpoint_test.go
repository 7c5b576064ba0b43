package mssql

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

// Patterns and names as (host, port, instance) after normalization. "?" means that the SQL Server
// Browser must be asked first.
func TestPatternCovers(t *testing.T) {
	t.Parallel()
	for text, servers := range map[string]map[string]string{
		"*": {"a": "yes", `a\i`: "?", "a,1500": "yes", "::1": "yes"},
		"db.example.com": {
			"db.example.com": "yes", "DB.Example.COM.": "yes", "tcp:db.example.com,1433": "yes", "db.example.com,1500": "yes",
			`db.example.com\x`:        "?",
			`evil.net\db.example.com`: "no", `evil.net,1433\db.example.com`: "error", "evil.net,db.example.com": "error",
			"db.example.com.evil.net": "no",
		},
		"*.example.com": {"a.example.com": "yes", `evil.net\x.example.com`: "no", "evil.net,.example.com": "error",
			"example.com": "no", "evil.net#.example.com": "yes"},
		"one,1433": {"one": "yes", "one,1433": "yes", "one,01433": "yes", "one,1434": "no", `one\i`: "?",
			`one\i,1433`: "yes", `one\i,1434`: "no"},
		"two,15*": {"two,1500": "yes", "two,1600": "no", "two": "no"},
		`win\inst`: {`win\inst`: "?", `WIN\INST`: "?", `win\other`: "no", "win": "no", `win\inst,1500`: "no",
			`win\inst\x`: "error"},
		`win\inst,1500`: {`win\inst,1500`: "yes", "win,1500": "yes", `win\inst`: "?", "win": "no"},
		`*\sql*`:        {`any\sqlexpress`: "?", `any\x\sql`: "error", `sql\any`: "no"},
		"127.0.0.1,14*": {"127.0.0.1": "yes", "::ffff:127.0.0.1": "yes", "[::ffff:7f00:1],1433": "yes", "localhost": "no",
			"127.1": "no"},
		"[::1]":         {"::1": "yes", "[::1],1500": "yes", "0:0:0:0:0:0:0:1": "yes", "::2": "no"},
		"10.0.*":        {"10.0.3.4": "yes", "10.0.example.net": "no", "10.0.3": "no", "10.1.0.0": "no"},
		".":             {"localhost": "yes", "(local)": "yes", `.\i`: "?", "127.0.0.1": "no"},
		"k.example.com": {"K.example.com": "yes", "\u212a.example.com": "yes"},
		// the Kelvin sign becomes a k, also in the dialed name
		"host": {"": "error", ",1433": "error", "host,": "error", "host,0": "error", "host,65536": "error",
			"host,0x599": "error", "host:1433": "error", "admin:host": "error", "np:host": "error", `host\`: "error",
			"host,1,2": "error"},
		"sql*":            {"sql1": "yes", "sql.example.net": "yes"}, // * is any run of characters, dots included
		"tcp:host.,1433 ": {"host": "yes"},
	} {
		p, err := parsePattern(text)
		require.NoError(t, err, text)
		for server, want := range servers {
			e, err := parseEndpoint(server)
			got := "error"
			switch {
			case err != nil:
				require.NotContains(t, err.Error(), "\n")
			case !p.covers(e):
				got = "no"
			case e.port == 0:
				got = "?"
			default:
				got = "yes"
			}
			require.Equal(t, want, got, "%q on %q", text, server)
		}
	}
}

// stage is a network in which a function plays each address. It records the dialed addresses.
type stage struct {
	dialed chan string
	play   func(network, addr string, conn net.Conn)
}

func (s stage) DialContext(_ context.Context, network, addr string) (net.Conn, error) {
	s.dialed <- network + " " + addr
	ours, theirs := net.Pipe()
	go func() { // ends with the pipe
		defer theirs.Close()
		s.play(network, addr, theirs)
	}()
	return ours, nil
}

func (stage) HostName() string { return "" }

// browse answers like the SQL Server Browser (MC-SQLR 2.2.5).
func browse(conn net.Conn, instance, port string) {
	var ask [1]byte
	if _, err := io.ReadFull(conn, ask[:]); err != nil {
		return
	}
	text := "ServerName;EVIL;InstanceName;" + instance + ";IsClustered;No;Version;16.0.1000.6;tcp;" + port + ";;"
	_, _ = conn.Write(append([]byte{5, byte(len(text)), byte(len(text) >> 8)}, text...))
}

// readPacket reads one TDS packet.
func readPacket(conn net.Conn) (kind byte, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, int(binary.BigEndian.Uint16(head[2:]))-len(head))
	_, err = io.ReadFull(conn, body)
	return head[0], body, err
}

// writePacket sends one TDS packet.
func writePacket(conn net.Conn, body []byte) {
	head := []byte{4, 1, 0, 0, 0, 51, 1, 0}
	binary.BigEndian.PutUint16(head[2:], uint16(len(head)+len(body)))
	_, _ = conn.Write(append(head, body...))
}

func ucs2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// sendOn accepts a login and redirects the client to another server (MS-TDS 2.2.7.9, ENVCHANGE type
// 20), like gateways and listeners.
func sendOn(conn net.Conn, server string, port uint16) {
	if _, _, err := readPacket(conn); err != nil { // prelogin
		return
	}
	writePacket(conn, []byte{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2}) // version; no encryption
	if _, _, err := readPacket(conn); err != nil {                                        // login
		return
	}
	name := ucs2(server)
	value := []byte{0}
	value = binary.LittleEndian.AppendUint16(value, port)
	value = append(binary.LittleEndian.AppendUint16(value, uint16(len(name)/2)), name...)
	env := binary.LittleEndian.AppendUint16([]byte{20}, uint16(len(value)))
	env = append(append(env, value...), 0, 0)
	tokens := append(binary.LittleEndian.AppendUint16([]byte{0xe3}, uint16(len(env))), env...)
	ack := append([]byte{1, 0x74, 0, 0, 4, 3}, ucs2("sql")...)
	ack = append(ack, 16, 0, 0, 0)
	done := []byte{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	tokens = append(binary.LittleEndian.AppendUint16(append(tokens, 0xad), uint16(len(ack))), ack...)
	tokens = append(tokens, done...)
	writePacket(conn, tokens)
}

// The address that the SQL Server Browser or a redirect names is matched with the patterns before
// it is resolved.
func TestCredentialIsNotSentOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern, server string
		routed          string
		dialed          []string
		refused         string // "": the login succeeds there
	}{
		"InstanceOnItsPort": {"db,1500", `db\sales`, "", []string{"udp db:1434", "tcp db:1500"}, ""},
		"InstanceElsewhere": {"db,1433", `db\sales`, "", []string{"udp db:1434"},
			`leads to db,1500, on which the credential may not be used; its servers are db,1433`},
		"InstanceByName": {`db\sales`, `db\sales`, "", []string{"udp db:1434", "tcp db:1500"}, ""},
		"OtherInstance":  {`db\other`, `db\sales`, "", nil, "may not be used on server"},
		"HostOfAnother":  {"*.example.com", `evil.net\x.example.com`, "", nil, "may not be used on server"},
		"SentOnWithin": {"*.example.com", "a.example.com", "b.example.com",
			[]string{"tcp a.example.com:1433", "tcp b.example.com:11000"}, ""},
		"SentOnToAnother": {"*.example.com", "a.example.com", "evil.net", []string{"tcp a.example.com:1433"},
			"leads to evil.net,11000, on which"},
		"SentOnToAnotherPort": {"a.example.com,1433", "a.example.com", "a.example.com", []string{"tcp a.example.com:1433"},
			"leads to a.example.com,11000, on which"},
		"SentOnByInstanceName": {"*.example.com", "a.example.com", `evil.net\x.example.com`,
			[]string{"tcp a.example.com:1433"}, "leads to evil.net,11000, on which"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage{dialed: make(chan string, 8)}
			s.play = func(network, addr string, conn net.Conn) {
				switch {
				case network == "udp":
					browse(conn, "SALES", "1500")
				case c.routed != "" && len(s.dialed) < 2:
					sendOn(conn, c.routed, 11000)
				}
			}
			servers := testServers(t, Config{Encrypt: "disable", Dialer: s}, LoginCredential("default", "sa", "pw", c.pattern))
			_, err := servers.open(t.Context(), c.server, "d", "")
			require.Error(t, err)
			close(s.dialed)
			var dialed []string
			for d := range s.dialed {
				dialed = append(dialed, d)
			}
			require.Equal(t, c.dialed, dialed)
			var config *targets.ConfigError
			if c.refused == "" {
				require.NotErrorAs(t, err, &config)
				return
			}
			require.ErrorAs(t, err, &config)
			require.ErrorContains(t, err, c.refused)
			require.Equal(t, targets.ClassConfig, Classify(err).Class)
		})
	}
}
