package targets

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// Connector makes sessions whose login ends with its context. go-mssqldb reads the login's answers
// without looking at the context, and its own "connection timeout" would also end every statement that
// is silent for that long; so the raw network connections of a login are cut when its context ends.
// It implements driver.Connector. Safe for concurrent use.
type Connector struct {
	inner *mssql.Connector
	limit time.Duration // of one login; 0: only the context's
}

// NewConnector makes the connector of a connection string; see [ParseDSN], whose error it returns. A nil dialer means TCP.
func NewConnector(dsn string, dialer mssql.HostDialer) (*Connector, error) {
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return d.Connector(dialer), nil
}

// wrapConnector takes over a connector of the driver, and dials through dialer; nil means TCP. Connections are encrypted as e says, under the driver, which must
// have its own encryption disabled; a nil e leaves encryption to the driver.
func wrapConnector(inner *mssql.Connector, e *Encryption, dialer mssql.HostDialer) *Connector {
	if dialer == nil {
		dialer = tcpDialer{}
	}
	inner.Dialer = loginDialer{dialer, e}
	return &Connector{inner: inner, limit: DefaultLoginTimeout}
}

// DefaultLoginTimeout is how long a connection and its login may take: 15 s, as in SqlClient.
const DefaultLoginTimeout = 15 * time.Second

// errLoginTimeout is the cause of a login that took too long; its text follows the server's name.
var errLoginTimeout = fmt.Errorf("no answer to the login in time: %w", context.DeadlineExceeded)

// Driver gives the driver, for database/sql.
func (c *Connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect logs in. When ctx ends first, the error is its cause.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.limit, errLoginTimeout)
		defer cancel()
		ctx = limited
	}
	var l login
	stop := context.AfterFunc(ctx, l.abort)
	conn, err := c.inner.Connect(context.WithValue(ctx, loginKey{}, &l))
	if !stop() && err == nil { // the context ended while the login succeeded: the wires are cut already
		_ = conn.Close()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, firstServerError(err) // 4060 comes with an 18456 behind it, which says less
	}
	if h, ok := ctx.Value(wireKey{}).(*wireHolder); ok {
		h.wire = l.last()
	}
	return conn, nil
}

// loginKey is the context key of the login that a dial belongs to.
type loginKey struct{}

// wireKey is the context key of a *wireHolder: who wants to know the wire under the session.
type wireKey struct{}

// wireHolder takes the wire of the session that was made under its context.
type wireHolder struct{ wire *wire }

// login collects the network connections of one login; a server that redirects makes several.
type login struct {
	mu      sync.Mutex
	aborted bool
	wires   []*wire
}

func (l *login) add(w *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wires = append(l.wires, w)
	if l.aborted {
		w.abort()
	}
}

func (l *login) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.aborted = true
	for _, w := range l.wires {
		w.abort()
	}
}

// last is the wire that the session ended up on; nil when the dialer was not asked.
func (l *login) last() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wires) == 0 {
		return nil
	}
	return l.wires[len(l.wires)-1]
}

// loginDialer encrypts what it dials, and registers it with the login of its context.
type loginDialer struct {
	mssql.HostDialer
	encryption *Encryption // nil: the driver's own
}

// DialContext dials, and wraps the connection into a wire. The driver hands over the host as it was named, by the connection string or by a server that
// redirects: it is what the certificate must be for.
func (d loginDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.HostDialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if d.encryption != nil && network == "tcp" { // an instance's port is asked for by UDP
		c = newChannel(c, d.encryption, addr)
	}
	w := &wire{Conn: c}
	if l, ok := ctx.Value(loginKey{}).(*login); ok {
		l.add(w)
	}
	return w, nil
}

// tcpDialer is the HostDialer for real servers: net.Dialer resolves names under the context and races
// the addresses, which the driver's own look-up does not.
type tcpDialer struct{}

// tcpKeepAlive is how often an idle connection is probed, so that a vanished server is noticed while a
// script runs silently. 30 s is the driver's default.
const tcpKeepAlive = 30 * time.Second

// DialContext dials.
func (tcpDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: tcpKeepAlive}
	return d.DialContext(ctx, network, addr)
}

// HostName is asked for by mssql.HostDialer and used by nobody: the network is this machine's.
func (tcpDialer) HostName() string { return "" }

// wire is the connection under a session as the driver sees it: TDS in plain text, whatever there is of encryption being done by the
// channel underneath. It remembers whether it broke: the driver's message queue says nothing when the connection ends between two packets; this does.
type wire struct {
	net.Conn
	mu      sync.Mutex
	broken  error // the first error of a read or write that was not after our own Close
	closed  bool
	written int64 // bytes

	heads packetHeads // of what was read; belongs to the reader
	id    int         // session id that the server's latest packet names; 0: none did
}

// Read notes the error.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if id := w.heads.see(p[:n]); id != 0 {
		w.mu.Lock()
		w.id = id
		w.mu.Unlock()
	}
	w.note(err)
	return n, err
}

// spid is the session id that the server has named; 0: none, or the driver encrypts. A nil wire has none.
func (w *wire) spid() int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// packetHeads finds the packets' headers in what a server sends. Their SPID field is the session's id, for nothing
// (MS-TDS 2.2.3.1.4, https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/fcfc00d0-6df1-42c8-8d34-93007b9a80f0); @@SPID would
// cost a round trip for each target. When the stream is no TDS, as where the driver encrypts, it stops looking.
type packetHeads struct {
	head [8]byte // type, status, length (2 bytes), SPID (2 bytes), packet id, window
	have int     // bytes of head
	body int     // bytes of the packet that are to come
	lost bool    // no TDS
}

// see takes the next bytes, and returns the last session id in them, 0 if there is none.
func (h *packetHeads) see(p []byte) (id int) {
	const (
		reply    = 0x04 // packet type of all that a server sends but
		prelogin = 0x12 // the TLS handshake
	)
	for len(p) > 0 && !h.lost {
		if h.body > 0 {
			n := min(h.body, len(p))
			h.body -= n
			p = p[n:]
			continue
		}
		n := copy(h.head[h.have:], p)
		h.have += n
		p = p[n:]
		if h.have < len(h.head) {
			return id
		}
		h.have = 0
		length := int(h.head[2])<<8 | int(h.head[3])
		if h.head[0] != reply && h.head[0] != prelogin || length < len(h.head) {
			h.lost = true
			return id
		}
		h.body = length - len(h.head)
		if spid := int(h.head[4])<<8 | int(h.head[5]); spid != 0 {
			id = spid
		}
	}
	return id
}

// Write counts, and notes the error.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.mu.Lock()
	w.written += int64(n)
	w.mu.Unlock()
	w.note(err)
	return n, err
}

// Close is ours: what fails afterwards is no fault of the network.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	return w.Conn.Close()
}

func (w *wire) note(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil && !w.closed {
		w.broken = err
	}
}

// abort ends a read or write that is under way, and all later ones.
func (w *wire) abort() { _ = w.Conn.SetDeadline(time.Unix(1, 0)) }

// state returns the bytes written so far and why the wire broke, if it did. A nil wire has none.
func (w *wire) state() (written int64, broken error) {
	if w == nil {
		return 0, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written, w.broken
}

// Redact makes a connection string fit for logs and errors: server, database and user, nothing else. A
// string that cannot be read becomes "***".
func Redact(dsn string) string {
	d, err := ParseDSN(dsn)
	if err != nil {
		return "***"
	}
	p := d.Params
	var b strings.Builder
	b.WriteString("server=" + p.Host)
	if p.Instance != "" {
		b.WriteString(`\` + p.Instance)
	}
	if p.Port != 0 {
		b.WriteString("," + strconv.FormatUint(p.Port, 10))
	}
	if p.Database != "" {
		b.WriteString(";database=" + p.Database)
	}
	if p.User != "" {
		b.WriteString(";user id=" + p.User)
	}
	if p.Password != "" {
		b.WriteString(";password=***")
	}
	return b.String()
}
