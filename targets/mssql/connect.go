package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Connector opens sessions whose login ends with its context. go-mssqldb reads the answers to a
// login without looking at the context, and its own "connection timeout" would also end every
// statement that is silent for that long. Connector therefore cuts the network connections of a
// login when the context ends. It implements driver.Connector. Safe for concurrent use.
type Connector struct {
	inner *mssqldb.Connector
	limit time.Duration // limit of one login; 0: only the context limits it
	guard guardConfig
	// onLogin is Config.OnLogin, or nil.
	onLogin func(elapsed time.Duration, class targets.Class)
	// explain adds the remedy to an error of the server; nil adds nothing.
	explain func(error) error
	// generation counts the calls of Retire. A session of an earlier generation is not used again.
	generation atomic.Uint64
}

// Retire retires all existing sessions: a pool closes each of them instead of using it again.
// Running statements continue. Callers use it when a session shows that its server is no longer the
// right one: after a failover, sessions of a former primary may survive, and return old rows,
// refuse changes (3906), or not answer.
func (c *Connector) Retire() { c.generation.Add(1) }

// guardConfig bounds the data that a server may send. The zero value, for the control database,
// allows all data that the protocol allows.
type guardConfig struct {
	limits tdsguard.Limits
	rows   tdsguard.Rows
	budget *tdsguard.Budget // nil: no budget
}

// NewConnector returns the connector of a connection string; see [ParseDSN], whose error it
// returns. A nil dialer means TCP.
func NewConnector(dsn string, dialer mssqldb.HostDialer) (*Connector, error) {
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return d.Connector(dialer), nil
}

// wrapConnector takes over a connector of the driver and dials through dialer; nil means TCP. A
// channel under the driver encrypts as e requires, so the driver's own encryption must be disabled.
// If e is nil, the driver encrypts.
func wrapConnector(inner *mssqldb.Connector, e *Encryption, dialer mssqldb.HostDialer) *Connector {
	if dialer == nil {
		dialer = tcpDialer{}
	}
	inner.Dialer = loginDialer{dialer, e}
	return &Connector{inner: inner, limit: DefaultLoginTimeout}
}

// DefaultLoginTimeout is the time limit for a connection and its login: 15 s, as in SqlClient.
const DefaultLoginTimeout = 15 * time.Second

// ErrLoginTimeout is the cause of a login that took too long: no server answers, or the server
// accepts the connection and sends nothing. The text follows the server's name.
var ErrLoginTimeout = fmt.Errorf("no answer to the login in time: %w", context.DeadlineExceeded)

// Driver returns the driver, for database/sql.
func (c *Connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect logs in. When ctx ends first, the error is its cause.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.onLogin == nil {
		return c.logIn(ctx)
	}
	started := time.Now()
	made, err := c.logIn(ctx)
	var class targets.Class
	if err != nil {
		class = Classify(err).Class
	}
	c.onLogin(time.Since(started), class)
	return made, err
}

// logIn implements Connect.
func (c *Connector) logIn(ctx context.Context) (driver.Conn, error) {
	if c.limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrLoginTimeout)
		defer cancel()
		ctx = limited
	}
	l, generation := login{guard: c.guard}, c.generation.Load()
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
			return nil, refused // the driver's error does not have the reason
		}
		err = firstServerError(err) // 4060 is followed by an 18456, which is less specific
		if c.explain != nil {
			err = c.explain(err)
		}
		return nil, err
	}
	inner, ok := made.(*mssqldb.Conn)
	if !ok {
		_ = made.Close()
		return nil, fmt.Errorf("the driver made a %T", made)
	}
	own := &conn{Conn: inner, wire: l.last(), of: c, generation: generation}
	if !inTime { // the context ended during the login, and the wires are cut
		_ = own.Close()
		return nil, context.Cause(ctx)
	}
	return own, nil
}

// conn is the driver's connection together with its wire.
type conn struct {
	*mssqldb.Conn
	wire       *wire // nil if the dialer was not used
	of         *Connector
	generation uint64 // generation of the connector when the login began
	unanswered bool   // it is not known whether a transaction is open
}

// BeginTx implements driver.ConnBeginTx. After an error, for example because a context has ended,
// the transaction may have begun, and the session is not used again.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil {
		c.unanswered = true
		return nil, err
	}
	return &transaction{tx, c}, nil
}

// transaction is a transaction of a pooled session.
type transaction struct {
	driver.Tx
	of *conn
}

// Rollback implements driver.Tx. Under a context that has ended, the driver returns before the
// server has answered. The session must not be used again then: SQL Server drops a connection that
// asks for a reset "while there are batches still running in the session" (17886,
// https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors-16000-to-17999).
func (t *transaction) Rollback() error {
	err := t.Tx.Rollback()
	if err != nil {
		t.of.unanswered = true
	}
	return err
}

// IsValid implements driver.Validator: a pool closes a session that is retired, or whose server has
// refused a change because the database is read-only.
func (c *conn) IsValid() bool { return !c.retired() && c.Conn.IsValid() }

// ResetSession implements driver.SessionResetter. After ErrBadConn, a pool takes another session;
// nothing was sent on this one.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.retired() {
		return driver.ErrBadConn
	}
	return c.Conn.ResetSession(ctx)
}

// retired reports whether the session must not be used again.
func (c *conn) retired() bool {
	return c.unanswered || c.generation != c.of.generation.Load() || c.wire.readOnly()
}

// Close ends the session. It ends reading first, because the driver's Close returns buffers to a
// pool while a goroutine of the driver may still read into them.
func (c *conn) Close() error {
	c.wire.stopReading()
	return c.Conn.Close()
}

// wireOf returns the wire under a pooled session, or nil.
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

// maxRedirects is the largest number of connections of one login. A server of Azure SQL Database
// redirects once.
const maxRedirects = 8

var errRedirects = fmt.Errorf("the server redirects in a circle: %d connections in one login", maxRedirects)

// login collects the network connections of one login. A server that redirects causes several.
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

// full reports whether the login has reached the limit of connections.
func (l *login) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.wires) >= maxRedirects
}

// refused returns the fault that the guard found in the server's data, or nil.
func (l *login) refused() error {
	if w := l.last(); w != nil {
		if _, broken := w.state(); isRefusal(broken) {
			return broken
		}
	}
	return nil
}

// abandon releases the memory that the connections of a failed login hold.
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

// last returns the wire that the session uses; nil if the dialer was not used.
func (l *login) last() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wires) == 0 {
		return nil
	}
	return l.wires[len(l.wires)-1]
}

// loginDialer encrypts its connections, and registers them with the login of its context.
type loginDialer struct {
	mssqldb.HostDialer
	encryption *Encryption // nil: the driver encrypts
}

// DialContext dials and wraps the connection into a wire. The driver passes the host of the
// connection string or of a redirect; the certificate must be for this name.
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
	if d.encryption != nil && network == "tcp" { // UDP is for the port of an instance
		c = newChannel(c, d.encryption, addr)
	}
	w := newWire(c, l.guard)
	if network == "udp" || d.encryption == nil {
		w.guard = nil // the protocol of the SQL Server Browser, or the driver's own TLS
	}
	l.add(w)
	return w, nil
}

// tcpDialer is the HostDialer for TCP. It resolves names under the context, at each dial, so that a
// changed name is followed. It dials the addresses of a name in parallel, dialApart apart: the name
// of a listener in several subnets has an address in each, and one of them answers (SqlClient calls
// this MultiSubnetFailover). net.Dialer would wait for half of the login's time.
type tcpDialer struct{}

const (
	// tcpIdle, tcpProbe and tcpProbes configure TCP keep-alive, which detects after 75 s that a
	// server has vanished while a script is silent. The first wait is the driver's default; with
	// Go's interval and number, detection would take five minutes.
	tcpIdle, tcpProbe, tcpProbes = 30 * time.Second, 5 * time.Second, 9
	// dialApart is the time after which the next address of a name is dialed in parallel. A server
	// that answers within it gets one connection. It is the delay of net.Dialer.
	dialApart = 300 * time.Millisecond
	// maxAddresses is the number of addresses of a name that are dialed; SqlClient also dials 64.
	maxAddresses = 64
)

// DialContext dials the addresses of the host.
func (tcpDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: tcpIdle, Interval: tcpProbe, Count: tcpProbes}}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || net.ParseIP(host) != nil || network != "tcp" {
		return d.DialContext(ctx, network, addr)
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return dialApartly(ctx, addresses[:min(len(addresses), maxAddresses)], func(ctx context.Context, address string) (net.Conn, error) {
		return d.DialContext(ctx, network, net.JoinHostPort(address, port))
	})
}

// dialApartly dials the addresses in order, each when the address before has failed or has taken
// dialApart, and returns the first connection. It closes the others. If all fail, the error is that
// of the first address.
func dialApartly(
	ctx context.Context, addresses []string, dial func(ctx context.Context, address string) (net.Conn, error),
) (net.Conn, error) {
	type answer struct {
		at   int
		conn net.Conn
		err  error
	}
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(addresses)) // one slot each: a send never blocks
	errs := make([]error, len(addresses))
	begun, ended := 0, 0
	begin := func() {
		at := begun
		begun++
		go func() { // ends with dialing
			c, err := dial(dialing, addresses[at])
			answers <- answer{at, c, err}
		}()
	}
	begin()
	next := time.NewTimer(dialApart)
	defer next.Stop()
	for ended < len(addresses) {
		select {
		case a := <-answers:
			ended++
			if a.err == nil {
				cancel()
				go func() { // ends soon: dialing has ended
					for ; ended < begun; ended++ {
						if late := <-answers; late.conn != nil {
							_ = late.conn.Close() // it was not used
						}
					}
				}()
				return a.conn, nil
			}
			errs[a.at] = a.err
		case <-next.C:
		}
		if begun < len(addresses) && dialing.Err() == nil {
			begin()
			next.Reset(dialApart)
		} else if begun == ended {
			break
		}
	}
	return nil, errs[0]
}

// HostName is required by mssqldb.HostDialer. The empty name means the network of this machine.
func (tcpDialer) HostName() string { return "" }

// wire is the connection under a session in the driver's view: TDS in plain text, because the
// channel underneath encrypts. It passes on the data that the guard accepts, and records the first
// error. The driver's message queue reports no error when the connection ends between two packets.
type wire struct {
	net.Conn
	guard   *tdsguard.Guard   // nil: the stream is not readable TDS
	account *tdsguard.Account // nil: memory is not accounted for

	reading sync.Mutex // held by Read
	stopped bool       // guarded by reading: Read returns net.ErrClosed

	mu      sync.Mutex
	broken  error // the first error of a read or write before Close
	closed  bool
	written int64 // bytes
}

// newWire returns the wire over a connection, with its guard.
func newWire(c net.Conn, cfg guardConfig) *wire {
	w := &wire{Conn: c}
	if cfg.budget != nil {
		w.account = cfg.budget.Account(w.fail)
	}
	w.guard = tdsguard.New(c, cfg.limits, cfg.rows, w.account)
	return w
}

// Read reads through the guard and records the error.
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

// stopReading ends reading. After it returns, no goroutine reads into a buffer of the driver.
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

// setRows sets how the guard treats rows from now on.
func (w *wire) setRows(rows tdsguard.Rows) {
	if w != nil && w.guard != nil {
		w.guard.SetRows(rows)
	}
}

// rowDone reports that the reader of kept rows has finished one more row.
func (w *wire) rowDone() {
	if w != nil {
		w.account.RowDone()
	}
}

// droppedErrors returns how many errors the guard dropped because there were too many.
func (w *wire) droppedErrors() int {
	if w == nil || w.guard == nil {
		return 0
	}
	return w.guard.DroppedErrors()
}

// fail breaks the wire with an error of the agent.
func (w *wire) fail(err error) {
	w.recordError(err)
	w.abort()
}

// attention is the request to cancel the current request: a header only (MS-TDS 2.2.1.7).
var attention = [...]byte{0x06, 0x01, 0, 8, 0, 0, 1, 0}

// cancel sends an attention after a limit was exceeded and drops the remaining data. It reports
// whether the server acknowledged the attention within grace. The driver does not use the
// connection after it.
func (w *wire) cancel(grace time.Duration) bool {
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

// spid returns the session ID from the header of the server's packets (MS-TDS 2.2.3.1.4,
// https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/fcfc00d0-6df1-42c8-8d34-93007b9a80f0).
// SELECT @@SPID would cost a round trip for each target. It is 0 before the first packet, when the
// driver itself encrypts, and for a nil wire.
func (w *wire) spid() int {
	if w == nil || w.guard == nil {
		return 0
	}
	return w.guard.SPID()
}

// readOnly reports whether the server has refused a change because a database is read-only. It is
// false for a nil wire, and when the driver itself encrypts.
func (w *wire) readOnly() bool { return w != nil && w.guard != nil && w.guard.ReadOnly() }

// unexplained returns errUnexplained if the latest answer has a failure without an error, otherwise
// nil. It is nil for a nil wire, and when the driver itself encrypts.
func (w *wire) unexplained() error {
	if w != nil && w.guard != nil && w.guard.Unexplained() {
		return errUnexplained
	}
	return nil
}

// address returns the server's address; empty for a nil wire.
func (w *wire) address() string {
	if w == nil {
		return ""
	}
	return w.RemoteAddr().String()
}

// Write counts the bytes and records the error. An attention that cannot be sent counts as sent,
// and breaks the wire: without an attention the driver would leave the rest of the answer unread,
// and its reading goroutine would block forever (.github/upstream/go-mssqldb-abandoned-reader.md).
func (w *wire) Write(p []byte) (int, error) {
	if w.guard != nil {
		w.guard.Wrote(p)
		p = withLoginLengths(p)
	}
	n, err := w.Conn.Write(p)
	w.mu.Lock()
	w.written += int64(n)
	w.mu.Unlock()
	w.recordError(err)
	if err != nil && w.guard != nil && len(p) == len(attention) && p[0] == attention[0] {
		w.abort()
		return len(p), nil
	}
	return n, err
}

// Close closes the connection. Later errors are not recorded.
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

// abort ends the current read and write, and all later ones.
func (w *wire) abort() {
	_ = w.Conn.SetDeadline(time.Unix(1, 0))
	w.account.Close() // ends a wait for memory
}

// isRefusal reports whether err is an error of the guard.
func isRefusal(err error) bool {
	var violation *tdsguard.Violation
	var exceeded *tdsguard.Exceeded
	return errors.As(err, &violation) || errors.As(err, &exceeded)
}

// state returns the bytes written so far and the error that broke the wire, or nil. For a nil wire,
// both are zero.
func (w *wire) state() (written int64, broken error) {
	if w == nil {
		return 0, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written, w.broken
}
