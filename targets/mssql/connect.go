package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Connector makes sessions whose login ends with its context. go-mssqldb reads the login's answers
// without looking at the context, and its own "connection timeout" would also end every statement that
// is silent for that long; so the raw network connections of a login are cut when its context ends.
// It implements driver.Connector. Safe for concurrent use.
type Connector struct {
	inner *mssqldb.Connector
	limit time.Duration // of one login; 0: only the context's
	guard guardConfig
}

// guardConfig says what a server may send. The zero value is that of the control database: whatever the protocol allows.
type guardConfig struct {
	limits tdsguard.Limits
	rows   tdsguard.Rows
	budget *tdsguard.Budget // nil: none
}

// NewConnector makes the connector of a connection string; see [ParseDSN], whose error it returns. A nil dialer means TCP.
func NewConnector(dsn string, dialer mssqldb.HostDialer) (*Connector, error) {
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return d.Connector(dialer), nil
}

// wrapConnector takes over a connector of the driver, and dials through dialer; nil means TCP. Connections are encrypted as e says, under the driver, which must
// have its own encryption disabled; a nil e leaves encryption to the driver.
func wrapConnector(inner *mssqldb.Connector, e *Encryption, dialer mssqldb.HostDialer) *Connector {
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
	l := login{guard: c.guard}
	stop := context.AfterFunc(ctx, l.abort)
	made, err := c.inner.Connect(context.WithValue(ctx, loginKey{}, &l))
	inTime := stop()
	if err != nil {
		refused := l.refused()
		l.abandon()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case refused != nil:
			return nil, refused // the driver says that the stream broke, not why
		}
		return nil, firstServerError(err) // 4060 comes with an 18456 behind it, which says less
	}
	inner, ok := made.(*mssqldb.Conn)
	if !ok {
		_ = made.Close()
		return nil, fmt.Errorf("the driver made a %T", made)
	}
	own := &conn{Conn: inner, wire: l.last()}
	if !inTime { // the context ended while the login succeeded: the wires are cut already
		_ = own.Close()
		return nil, context.Cause(ctx)
	}
	return own, nil
}

// conn is the driver's connection with the wire under it.
type conn struct {
	*mssqldb.Conn
	wire *wire // nil when the dialer was not asked
}

// Close ends the session. The driver gives its buffers to the next connection first, although a goroutine of its own may still read into
// them; so reading ends before.
func (c *conn) Close() error {
	c.wire.stopReading()
	return c.Conn.Close()
}

// wireOf is the wire under a session of a pool; nil: there is none.
func wireOf(pooled *sql.Conn) (w *wire) {
	_ = pooled.Raw(func(inner any) error {
		if c, ok := inner.(*conn); ok {
			w = c.wire
		}
		return nil
	})
	return w
}

// loginKey is the context key of the login that a dial belongs to.
type loginKey struct{}

// maxRedirects is how many connections one login may take. A server of Azure SQL Database redirects once.
const maxRedirects = 8

var errRedirects = fmt.Errorf("the server redirects in a circle: %d connections in one login", maxRedirects)

// login collects the network connections of one login; a server that redirects makes several.
type login struct {
	guard guardConfig

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

// full says whether there were as many connections as a login may take.
func (l *login) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wires) >= maxRedirects
}

// refused is the fault that the guard has found in what the server sent; nil: none.
func (l *login) refused() error {
	if w := l.last(); w != nil {
		if _, broken := w.state(); isRefusal(broken) {
			return broken
		}
	}
	return nil
}

// abandon gives back what the connections of a login that did not succeed hold.
func (l *login) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wires {
		w.account.Close()
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
	mssqldb.HostDialer
	encryption *Encryption // nil: the driver's own
}

// DialContext dials, and wraps the connection into a wire. The driver hands over the host as it was named, by the connection string or by a server that
// redirects: it is what the certificate must be for.
func (d loginDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	l, _ := ctx.Value(loginKey{}).(*login)
	if l == nil {
		l = &login{}
	}
	if l.full() {
		return nil, errRedirects
	}
	c, err := d.HostDialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if d.encryption != nil && network == "tcp" { // an instance's port is asked for by UDP
		c = newChannel(c, d.encryption, addr)
	}
	w := newWire(c, l.guard)
	if network == "udp" || d.encryption == nil {
		w.guard = nil // the SQL Server Browser, which speaks another protocol, or TLS of the driver's, which cannot be read
	}
	l.add(w)
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
// channel underneath. It remembers whether it broke, and lets through what the guard finds sound. The driver's message queue says nothing when
// the connection ends between two packets; this does.
type wire struct {
	net.Conn
	guard   *tdsguard.Guard   // nil: no TDS that could be read
	account *tdsguard.Account // nil: nothing is accounted for

	reading sync.Mutex // held by Read
	stopped bool       // belongs to reading: nothing is read any more

	mu      sync.Mutex
	broken  error // the first error of a read or write that was not after our own Close
	closed  bool
	written int64 // bytes
}

// newWire guards a connection.
func newWire(c net.Conn, cfg guardConfig) *wire {
	w := &wire{Conn: c}
	if cfg.budget != nil {
		w.account = cfg.budget.Account(w.fail)
	}
	w.guard = tdsguard.New(c, cfg.limits, cfg.rows, w.account)
	return w
}

// Read notes the error.
func (w *wire) Read(p []byte) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.stopped {
		return 0, net.ErrClosed
	}
	read := w.Conn.Read
	if w.guard != nil {
		read = w.guard.Read
	}
	n, err := read(p)
	w.recordError(err)
	return n, err
}

// settle ends reading: when it returns, nobody reads into a buffer of the driver, and nobody will.
func (w *wire) stopReading() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.abort()
	w.reading.Lock()
	defer w.reading.Unlock()
	w.stopped = true
}

// setRows says what becomes of the rows of result sets from now on.
func (w *wire) setRows(rows tdsguard.Rows) {
	if w != nil && w.guard != nil {
		w.guard.SetRows(rows)
	}
}

// taken says that the reader of kept rows is done with one more.
func (w *wire) rowDone() {
	if w != nil {
		w.account.RowDone()
	}
}

// droppedErrors is how many errors the guard did not let through because there were too many.
func (w *wire) droppedErrors() int {
	if w == nil || w.guard == nil {
		return 0
	}
	return w.guard.DroppedErrors()
}

// fail breaks the wire for a reason of the agent's.
func (w *wire) fail(err error) {
	w.recordError(err)
	w.abort()
}

// cancel sends an attention after a limit was exceeded, drops what still comes, and says whether the server has acknowledged it
// within grace. The driver has given the connection up.
func (w *wire) cancel(grace time.Duration) bool {
	attention := [...]byte{0x06, 0x01, 0, 8, 0, 0, 1, 0} // MS-TDS 2.2.1.7: a header, and nothing else
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.stopped || w.guard == nil || w.Conn.SetDeadline(time.Now().Add(grace)) != nil {
		return false
	}
	if _, err := w.Conn.Write(attention[:]); err != nil {
		return false
	}
	return w.guard.Drain() == nil
}

// spid is the session id that the server has named; 0: none, or the driver encrypts. It stands in the header of each packet (MS-TDS 2.2.3.1.4,
// https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/fcfc00d0-6df1-42c8-8d34-93007b9a80f0); @@SPID would cost a round trip
// for each target. A nil wire has none.
func (w *wire) spid() int {
	if w == nil || w.guard == nil {
		return 0
	}
	return w.guard.SPID()
}

// address is that of the server; a nil wire has none.
func (w *wire) address() string {
	if w == nil {
		return ""
	}
	return w.RemoteAddr().String()
}

// Write counts, and notes the error.
func (w *wire) Write(p []byte) (int, error) {
	if w.guard != nil {
		w.guard.Wrote(p)
	}
	n, err := w.Conn.Write(p)
	w.mu.Lock()
	w.written += int64(n)
	w.mu.Unlock()
	w.recordError(err)
	return n, err
}

// Close is ours: what fails afterwards is no fault of the network.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.account.Close()
	return w.Conn.Close()
}

func (w *wire) recordError(err error) {
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
func (w *wire) abort() {
	_ = w.Conn.SetDeadline(time.Unix(1, 0))
	w.account.Close() // it may be waited for
}

// isRefusal says whether the guard has ended the stream.
func isRefusal(err error) bool {
	var violation *tdsguard.Violation
	var exceeded *tdsguard.Exceeded
	return errors.As(err, &violation) || errors.As(err, &exceeded)
}

// state returns the bytes written so far and why the wire broke, if it did. A nil wire has none.
func (w *wire) state() (written int64, broken error) {
	if w == nil {
		return 0, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written, w.broken
}
